"""What is sent for a request, and what is done with its answer, without a connection."""

from __future__ import annotations

import json

import pytest
from exchanging import Exchanging, said, user, whole

from warmset.serve.proxy.surfaces import CHAT, INTERACTIONS, MESSAGES, RESPONSES, surface_of
from warmset.tokens import count_tokens

QUESTION = "How many boxes are on the shelf?"
GIVEN = {
    "chat": [user(QUESTION)],
    "responses": [user(QUESTION)],
    "interactions": [{"type": "user_input", "content": [{"type": "text", "text": QUESTION}]}],
}
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
LONG = [(said if at % 2 else user)(f"Shelf {at} has {at * 7} boxes. " * 40) for at in range(31)]


def budget(tokens):
    return {"x-warmset-budget": str(tokens)}


@pytest.fixture
def proxy(tmp_path):
    made = Exchanging(tmp_path)
    yield made
    made.memories.close()


# --- the budget ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("surface", "beside", "counted"),
    [
        (RESPONSES, {"instructions": "You count boxes. " * 9}, "You count boxes. " * 9),
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
    for most, why in ((need, None), (need - 1, "budget_too_small")):
        assert proxy.ask(surface, given, headers=budget(most), **beside)[1].bypass == why


def test_tools_are_part_of_a_call(proxy):
    need = proxy.ask(CHAT, GIVEN["chat"], tools=TOOLS)[1].window.tokens
    assert need > proxy.ask(CHAT, GIVEN["chat"])[1].window.tokens
    for most, why in ((need, None), (need - 1, "budget_too_small")):
        made = proxy.ask(CHAT, GIVEN["chat"], headers=budget(most), tools=TOOLS)[1]
        assert made.bypass == why


def test_what_was_too_long_has_fewer_tokens_than_its_budget(proxy):
    asked, first = proxy.ask(CHAT, GIVEN["chat"], headers=budget(900))
    need = first.window.tokens
    for most, had in ((need, need), (899, 899), (901, 900), (0, None)):
        again = proxy.exchanges.prepare(asked, most=most)
        assert (again.window and again.window.budget) == had
        assert again.bypass == (None if had else "budget_too_small")


def test_a_list_that_the_provider_shortens_goes_whole_unless_that_was_too_long(proxy):
    managed = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
    asked, prepared = proxy.ask(MESSAGES, LONG, headers=budget(3_000), **managed)
    assert prepared.body == asked.body
    assert prepared.window.report.mode == "full"
    shorter = proxy.exchanges.prepare(asked, most=2_000)
    assert len(shorter.body) < len(asked.body) / 2
    assert shorter.window.report.mode != "full"


# --- what is sent -------------------------------------------------------------------------------


def test_a_window_has_the_prices_of_the_model_that_is_asked(proxy):
    for model, known in (("gpt-6.2-sol", True), ("nobody-knows", False)):
        _asked, prepared = proxy.ask(CHAT, GIVEN["chat"], model=model)
        assert (prepared.window.report.money.price is not None) == known


def test_a_system_prompt_is_sent_as_it_is_written(proxy):
    rest = '"messages" : [{"role":"user","content":"\\u006fne"}], "model":"m" }'
    for text in (f'{{ "system":"Be \\u0062rief." ,{rest}', f"{{ {rest}"):
        assert proxy.ask(MESSAGES, (), text=text)[1].body == text.encode()
    text = f'{{"system":"Be \\u0062rief." , "messages":{json.dumps(LONG)},"model":"m"}}'
    body = proxy.ask(MESSAGES, (), text=text, headers=budget(3_000))[1].body
    assert len(body) < len(text) / 2
    assert body.startswith(b'{"system":"Be \\u0062rief." , "messages":[')


def test_thinking_that_must_be_disabled_is_disabled_and_told(proxy):
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    reply = {"role": "assistant", "content": [thought, call]}
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "model": None}
    given = [user("one")]
    request = proxy.ask(MESSAGES, given, system="Be brief.", **thinks)
    assert proxy.answer(request, whole(reply))
    given += [reply, user([{"type": "tool_result", "tool_use_id": "t", "content": "1"}])]
    same = proxy.ask(MESSAGES, given, system="Be brief.", **thinks)[1]
    assert same.notes == ()
    assert json.loads(same.body)["thinking"] == thinks["thinking"]
    other = proxy.ask(MESSAGES, given, system="Be long.", **thinks)[1]
    assert other.header().endswith("; thinking=disabled")
    assert json.loads(other.body)["thinking"] == {"type": "disabled"}


# --- what is answered ---------------------------------------------------------------------------


def test_a_reply_that_is_read_twice_is_appended_and_paid_once(proxy):
    request = proxy.ask(CHAT, [user("one")])
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    assert proxy.answer(request, whole(said("a")))
    for _ in range(2):
        assert not proxy.answer(request, whole(said("a"), usage=usage, model="gpt-5.2"))
    assert proxy.stored() == ([[user("one"), said("a")]], 2)
    with proxy.memory() as memory:
        spent = memory.conversation(request[1].talk.name).spent
    assert (spent.calls, spent.output) == (1, 2)


def test_a_reply_follows_what_it_answers(proxy):
    request = proxy.ask(CHAT, [user("one")])
    with proxy.memory() as memory:
        memory.conversation(request[1].talk.name).append([user("aside")])
    assert proxy.answer(request, whole(said("a")))
    assert proxy.stored() == ([[user("one"), said("a")]], 3)


def test_a_reply_to_a_list_that_went_as_it_came_is_appended(proxy):
    request = proxy.ask(CHAT, GIVEN["chat"], headers=budget(1))
    assert request[1].header() == "bypass; reason=budget_too_small"
    assert proxy.answer(request, whole(said("a")))
    assert not proxy.answer(request, whole(said("a")))
    assert proxy.stored() == ([[*GIVEN["chat"], said("a")]], 2)


def parts(role, *texts):
    return {"role": role, "parts": [{"text": text} for text in texts]}


@pytest.mark.parametrize("agent", ["google-genai-sdk/3.6.1+chat", "google-genai-sdk/3.6.1"])
@pytest.mark.parametrize("apart", [(parts("model", "a"), parts("model", "b")), ()])
def test_the_pieces_of_a_stream_are_those_that_the_client_sends_back(proxy, agent, apart):
    stream = surface_of("POST", "/v1beta/models/m:streamGenerateContent")
    given = [parts("user", "one")]
    request = proxy.ask(stream, given, headers={"x-goog-api-client": agent})
    joined = parts("model", "ab")
    assert proxy.answer(request, whole(joined, apart=apart))
    stored = apart if agent.endswith("+chat") and apart else (joined,)
    assert proxy.stored()[0] == [[*given, *stored]]


def test_bytes_are_sent_in_the_alphabet_that_the_client_has(proxy):
    plain = surface_of("POST", "/v1beta/models/m:generateContent")
    signed = [
        {"role": "model", "parts": [{"text": "a", "thoughtSignature": one}]}
        for one in ("+/+/", "-_-_")
    ]
    given = [parts("user", "one")]
    assert proxy.answer(proxy.ask(plain, given), whole(signed[0]))
    asked, prepared = proxy.ask(plain, [*given, signed[1], parts("user", "two")])
    assert prepared.body == asked.body
    assert proxy.stored()[0] == [[*given, signed[0], parts("user", "two")]]
