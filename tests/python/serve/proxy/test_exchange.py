"""What is sent for a request, and what is done with its answer, without a connection."""

from __future__ import annotations

import json

import pytest

from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.exchange import Asked, Exchanges
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.options import ProxyOptions
from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, MESSAGES, RESPONSES
from warmset.serve.proxy.tenants import Tenants
from warmset.serve.replies import Reply
from warmset.tokens import count_tokens

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "count",
            "description": "Count the boxes on a shelf.",
            "parameters": {"type": "object", "properties": {"shelf": {"type": "integer"}}},
        },
    }
]


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def whole(*messages, **more):
    return Reply(messages=messages, is_complete=True, **more)


class Proxy:
    """A proxy without connections."""

    def __init__(self, folder):
        self.memories = Memories(folder / "store", {"embedder": "lexical", "durability": "os"})
        options = ProxyOptions()
        who = Callers(Tenants(b"s" * 32, Aliases(folder)), options)
        self.exchanges = Exchanges(self.memories, who, options)

    def ask(self, surface, given, *, headers=(), text=None, **body):
        """Return a request, and what is sent for it."""
        body = {surface.messages: given, "model": "gpt-5.2", **body}
        headers = {"authorization": "Bearer k", **dict(headers)}
        written = (text or json.dumps(body)).encode()
        asked = Asked(surface=surface, headers=headers, query="", body=written)
        return asked, self.exchanges.prepare(asked)

    def talk(self, asked, prepared, reply):
        """Let a request be answered; return whether the reply was appended."""
        return self.exchanges.answered(asked, prepared, reply)

    def of(self, prepared):
        """Return the memory and the conversation of a request."""
        with self.memories.of(prepared.talk.tenant) as memory:
            return memory, memory.conversation(prepared.talk.name)


@pytest.fixture
def proxy(tmp_path):
    made = Proxy(tmp_path)
    yield made
    made.memories.close()


GIVEN = {
    "responses": [user("How many boxes are on the shelf?")],
    "interactions": [{"type": "user_input", "content": [{"type": "text", "text": "How many?"}]}],
    "chat": [user("How many boxes are on the shelf?")],
}
LONG = {"text": "You count boxes, and nothing else: " * 9}


@pytest.mark.parametrize(
    ("surface", "beside", "counted"),
    [
        (RESPONSES, {"instructions": LONG["text"]}, LONG["text"]),
        (INTERACTIONS, {"system_instruction": "é" * 40}, "é" * 40),
        (RESPONSES, {"instructions": ""}, None),
        (CHAT, {"instructions": "not of this API"}, None),
    ],
)
def test_a_list_has_the_budget_without_what_stands_beside_it(proxy, surface, beside, counted):
    given = GIVEN[surface.name]
    need = proxy.ask(surface, given)[1].window.tokens
    if counted is not None:
        need += count_tokens(json.dumps(counted, ensure_ascii=False))
    for budget, why in ((need, None), (need - 1, "budget_too_small")):
        headers = {"x-warmset-budget": str(budget)}
        assert proxy.ask(surface, given, headers=headers, **beside)[1].bypass == why


def test_tools_are_part_of_a_call(proxy):
    need = proxy.ask(CHAT, GIVEN["chat"], tools=TOOLS)[1].window.tokens
    assert need > proxy.ask(CHAT, GIVEN["chat"])[1].window.tokens
    for budget, why in ((need, None), (need - 1, "budget_too_small")):
        headers = {"x-warmset-budget": str(budget)}
        assert proxy.ask(CHAT, GIVEN["chat"], headers=headers, tools=TOOLS)[1].bypass == why


def test_a_window_has_the_prices_of_the_model_that_is_asked(proxy):
    for model, known in (("gpt-6.2-sol", True), ("nobody-knows", False)):
        _asked, prepared = proxy.ask(CHAT, GIVEN["chat"], model=model)
        assert (prepared.window.report.money.price is not None) == known


def test_a_reply_that_is_read_twice_is_appended_and_paid_once(proxy):
    asked, prepared = proxy.ask(CHAT, [user("one")])
    early = whole(said("a"))
    late = whole(said("a"), usage={"prompt_tokens": 9, "completion_tokens": 2}, model="gpt-5.2")
    assert proxy.talk(asked, prepared, early)
    for _ in range(2):
        assert not proxy.talk(asked, prepared, late)
    memory, conversation = proxy.of(prepared)
    assert memory.stats()["messages"] == 2
    assert (conversation.spent.calls, conversation.spent.output) == (1, 2)


def test_the_beginning_of_a_reply_is_no_reply(proxy):
    given = [user("one")]
    asked, prepared = proxy.ask(RESPONSES, given, background=True)
    begun = Reply(messages=(said("a"),), id="resp_1", stop="in_progress")
    assert not proxy.talk(asked, prepared, begun)
    memory, conversation = proxy.of(prepared)
    assert [dict(one) for one in conversation.messages()] == given
    assert memory.stats()["messages"] == 1
    again = proxy.ask(RESPONSES, given)[1]  # what has no reply yet is sent again
    assert again.talk.name == prepared.talk.name


def test_thinking_that_must_be_disabled_is_disabled_and_told(proxy):
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = user([{"type": "tool_result", "tool_use_id": "t", "content": "1"}])
    given = [user("one")]
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "model": None}
    asked, prepared = proxy.ask(MESSAGES, given, system="Be brief.", **thinks)
    reply = {"role": "assistant", "content": [thought, call]}
    assert proxy.talk(asked, prepared, whole(reply))
    given += [reply, result]
    same = proxy.ask(MESSAGES, given, system="Be brief.", **thinks)[1]
    assert same.notes == ()
    assert json.loads(same.body)["thinking"] == thinks["thinking"]
    other = proxy.ask(MESSAGES, given, system="Be long.", **thinks)[1]
    assert other.header().endswith("; thinking=disabled")
    assert json.loads(other.body)["thinking"] == {"type": "disabled"}


def test_a_system_prompt_is_sent_as_it_is_written(proxy):
    rest = '"messages" : [{"role":"user","content":"\\u006fne"}], "model":"m" }'
    for text in (f'{{ "system":"Be \\u0062rief." ,{rest}', f"{{ {rest}"):
        assert proxy.ask(MESSAGES, (), text=text)[1].body == text.encode()
    long = [said(f"{at} " * 400) if at % 2 else user(f"{at} " * 400) for at in range(31)]
    listed = json.dumps(long)
    text = f'{{"system":"Be \\u0062rief." , "messages":{listed},"model":"m"}}'
    body = proxy.ask(MESSAGES, (), text=text, headers={"x-warmset-budget": "3000"})[1].body
    assert len(body) < len(text) / 2
    assert body.startswith(b'{"system":"Be \\u0062rief." , "messages":[')
