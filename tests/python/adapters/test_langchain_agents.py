"""Agents of LangChain with windows and summaries: real agents on a provider that binds thinking."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_anthropic")
from bound_servers import BoundMessages
from langchain.agents import create_agent
from langchain.agents.middleware import ExtendedModelResponse, ModelResponse
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from warmset import Memory, PreparedCompaction
from warmset.adapters._windows import without_thinking
from warmset.adapters.langchain import WarmsetCompactionMiddleware, WarmsetMiddleware
from warmset.adapters.langchain.conversion import dicts, made_of, restored
from warmset.adapters.langchain.middleware import _reply
from warmset.errors import InvalidInputError, InvalidMessageError

MODEL = "claude-opus-5-5"


@tool
def look(at: int = 0) -> str:
    """Look at a shelf."""
    return f"shelf {at}: " + "row " * 40


class Provider(BoundMessages):
    """A provider that also looks whether thinking is missing that it would have taken."""

    def __init__(self, httpserver):
        super().__init__(httpserver)
        self.missing = []
        self.kept = []

    def refused(self, body):
        why = super().refused(body)
        left_out = self.bindings.left_out(body)
        self.missing += [mark for mark in left_out if not self.bindings.would_drop(body, mark)]
        self.kept.append(len(self.bindings.made) - len(left_out))
        return why


@pytest.fixture
def provider(httpserver, no_proxy):  # noqa: ARG001 - for its environment
    return Provider(httpserver)


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


def agent_of(provider, *middleware, saver=True, blocks=None):
    model = ChatAnthropic(
        model=MODEL,
        base_url=provider.url.rstrip("/"),
        api_key="k",
        max_tokens=1_000,
        max_retries=0,
        output_version=blocks,
    )
    return create_agent(
        model,
        [look],
        system_prompt="Be brief.",
        middleware=list(middleware),
        checkpointer=InMemorySaver() if saver else None,
    )


def on(thread):
    return {"configurable": {"thread_id": thread}, "recursion_limit": 100}


def forms(messages):
    """Return messages without null, which is not stored, and without thinking."""
    return [
        without_thinking(json.loads(json.dumps(one), object_pairs_hook=said)) for one in messages
    ]


def said(pairs):
    return {name: value for name, value in pairs if value is not None}


def asked(number):
    return {"messages": [("user", f"Question {number}: what is on shelf {number}?")]}


REQUESTS = 28 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 8
"""Requests of the user: 11 messages each; 28 are 308 messages, which take half a minute."""


@pytest.mark.parametrize("blocks", ["v0", "v1"])
def test_an_agent_keeps_its_thinking(provider, memory, blocks):
    middleware = WarmsetMiddleware(memory, budget=4_000)
    windows, make = [], middleware.windows.make
    middleware.windows.make = lambda *given: windows.append(make(*given)) or windows[-1]
    agent = agent_of(provider, middleware, blocks=blocks)
    for number in range(REQUESTS):
        state = agent.invoke(asked(number), on("t"))["messages"]
    conversation = memory.conversation("t")
    assert provider.errors == []
    assert provider.missing == []  # nothing of its thinking left that it would have taken
    assert len(state) == len(conversation) == 11 * REQUESTS
    assert conversation.dialect == "anthropic"
    made = [one.window for one in windows]
    assert {one.synced.branched_at for one in made} == {None}
    assert max(one.tokens for one in made) <= 4_000
    assert sum(one.report.thinking.kept > 0 for one in made) > 3.5 * REQUESTS
    assert conversation.spent.calls == len(made) == 4 * REQUESTS
    assert forms(conversation) == forms(dicts(state, "anthropic"))


async def test_agents_at_once_each_in_their_thread(provider, memory):
    agent = agent_of(provider, WarmsetMiddleware(memory, budget=9_000))

    async def work(name):
        for number in range(2):
            state = (await agent.ainvoke(asked(number), on(name)))["messages"]
        return state

    states = await asyncio.gather(*(work(f"t{n}") for n in range(3)))
    assert provider.errors == provider.missing == []
    for n, state in enumerate(states):
        conversation = memory.conversation(f"t{n}")
        assert forms(conversation) == forms(dicts(state, "anthropic"))


def test_a_summary_takes_the_place_of_the_oldest_messages(provider, memory):
    policy = PreparedCompaction(deadline=20.0)
    compacting = WarmsetCompactionMiddleware(memory, budget=1_800, compaction=policy)
    agent = agent_of(provider, compacting)
    lengths, asked_all = [], 0
    for number in range(7):
        state = agent.invoke(asked(number), on("t"))["messages"]
        lengths.append(len(state))
        asked_all += 11
    conversation = memory.conversation("t")
    assert provider.errors == provider.missing == []
    assert len(conversation) == asked_all  # the memory has all of it, once
    assert min(later - before for before, later in pairwise(lengths)) < 0
    assert max(lengths) < 50
    assert forms(conversation)[-8:] == forms(dicts(state, "anthropic"))[-8:]
    assert conversation.fetch(conversation.ids[0])["content"].startswith("Question 0")


async def test_a_summary_within_an_event_loop(memory):
    policy = PreparedCompaction(deadline=20.0)
    compacting = WarmsetCompactionMiddleware(memory, budget=600, compaction=policy)
    model = GenericFakeChatModel(messages=iter([f"answer {n} " + "word " * 60 for n in range(30)]))
    agent = create_agent(model, middleware=[compacting], checkpointer=InMemorySaver())
    for number in range(20):
        state = (await agent.ainvoke(asked(number), on("t")))["messages"]
    assert len(state) < 30
    assert len(memory.conversation("t")) == 40


def test_a_short_list_goes_out_as_the_very_objects(memory):
    middleware = WarmsetMiddleware(memory, budget=9_000, conversation=lambda _: "mine")
    sent = []

    class Spy(GenericFakeChatModel):
        def _generate(self, messages, *given, **options):
            sent.append(messages)
            return super()._generate(messages, *given, **options)

    model = Spy(messages=iter(["hello", "again"]))
    agent = create_agent(model, middleware=[middleware], system_prompt="Be brief.")
    message = HumanMessage("hi", id="one", additional_kwargs={"of": "mine"}, name="ann")
    state = agent.invoke({"messages": [message]})["messages"]
    assert sent[-1][0] == SystemMessage("Be brief.")
    assert sent[-1][1] == message
    agent.invoke({"messages": [*state, HumanMessage("more")]})
    assert sent[-1][1:3] == state
    assert len(memory.conversation("mine")) == 4


def test_a_call_that_is_too_long_goes_out_once_more_with_less(memory):
    sent = []

    class Strict(GenericFakeChatModel):
        def _generate(self, messages, *given, **options):
            sent.append(len(messages))
            if len(messages) > limit:
                raise ContextOverflowError("prompt is too long")
            return super()._generate(messages, *given, **options)

    limit = 8
    model = Strict(messages=iter([f"answer {n}" for n in range(5)]))
    agent = create_agent(model, middleware=[WarmsetMiddleware(memory, budget=900, mode="recency")])
    talk = [HumanMessage(f"note {n} " + "word " * 60, id=f"m{n}") for n in range(12)]
    agent.invoke({"messages": talk})
    first, second = sent
    assert first > limit >= second
    assert len(memory.conversation("run m0")) == 13
    limit = 0
    with pytest.raises(ContextOverflowError, match="prompt is too long"):
        agent.invoke({"messages": talk})

    async def later():
        return await agent.ainvoke({"messages": talk})

    limit = 8
    asyncio.run(later())
    assert sent[-2] > limit >= sent[-1]


def test_what_does_not_fit_is_an_overflow(memory):
    model = GenericFakeChatModel(messages=iter(["never"]))
    agent = create_agent(model, middleware=[WarmsetMiddleware(memory, budget=60)])
    with pytest.raises(ContextOverflowError, match="need"):
        agent.invoke({"messages": [("user", "word " * 500)]})


def test_an_agent_within_a_tool_has_a_conversation_of_its_own(provider, memory):
    inner = create_agent(
        GenericFakeChatModel(messages=iter([f"inner {n}" for n in range(99)])),
        middleware=[WarmsetMiddleware(memory, budget=9_000)],
    )

    @tool
    def look(at: int = 0) -> str:
        """Ask another agent."""
        return inner.invoke({"messages": [("user", f"shelf {at}?")]})["messages"][-1].content

    model = ChatAnthropic(
        model=MODEL, base_url=provider.url.rstrip("/"), api_key="k", max_tokens=1_000, max_retries=0
    )
    outer = create_agent(
        model,
        [look],
        middleware=[WarmsetMiddleware(memory, budget=9_000)],
        checkpointer=InMemorySaver(),
    )
    state = outer.invoke(asked(0), on("t"))["messages"]
    assert provider.errors == []
    names = memory.conversations()
    assert names[0] == "t"
    assert len(names) == 7  # six calls of the tool
    assert all(name.startswith("t/") for name in names[1:])
    assert len(memory.conversation("t")) == len(state)


@pytest.mark.parametrize("given", ["", 3, lambda _: None])
def test_what_is_no_conversation_is_refused(memory, given):
    model = GenericFakeChatModel(messages=iter(["never"]))
    middleware = WarmsetMiddleware(memory, budget=900, conversation=given)
    agent = create_agent(model, middleware=[middleware])
    with pytest.raises(InvalidInputError, match="conversation: expected a name"):
        agent.invoke(asked(0))


def test_options_are_checked(memory):
    with pytest.raises(InvalidInputError, match="system: each call"):
        WarmsetMiddleware(memory, budget=900, system="x")
    memory.conversation("c").append({"role": "user", "parts": [{"text": "hi"}]})
    model = GenericFakeChatModel(messages=iter(["never"]))
    agent = create_agent(
        model, middleware=[WarmsetMiddleware(memory, budget=900, conversation="c")]
    )
    with pytest.raises(InvalidInputError, match="'gemini'"):
        agent.invoke(asked(0))


def test_every_form_of_a_response_is_read():
    reply = AIMessage("x")
    plain = ModelResponse(result=[reply])
    assert _reply(reply) == _reply(plain) == [reply]
    assert _reply(ExtendedModelResponse(model_response=plain)) == [reply]
    with pytest.raises(InvalidInputError, match="found a str"):
        _reply("x")


# --- restarts -------------------------------------------------------------------------------------

CHILD = """
import os, signal, sys
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from warmset import Memory
from warmset.adapters._windows import without_thinking
from warmset.adapters.langchain import WarmsetMiddleware

memory = Memory.open(sys.argv[1], embedder="lexical")
model = GenericFakeChatModel(messages=iter(["first answer", "second answer"]))
agent = create_agent(model, middleware=[WarmsetMiddleware(memory, budget=900, conversation="c")])
state = agent.invoke({"messages": [("user", "first question")]})["messages"]
print(len(state), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_goes_on_after_a_process_that_was_killed(tmp_path):
    done = subprocess.run(  # noqa: S603 - fixed
        [sys.executable, "-c", CHILD, str(tmp_path / "s")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "2\n", done.stderr
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        said = [turn["content"] for turn in memory.conversation("c")]
        assert said == ["first question", "first answer"]
        model = GenericFakeChatModel(messages=iter(["second answer"]))
        middleware = WarmsetMiddleware(memory, budget=900, conversation="c")
        agent = create_agent(model, middleware=[middleware])
        talk = [HumanMessage("first question"), AIMessage("first answer"), HumanMessage("second")]
        agent.invoke({"messages": talk})
        assert len(memory.conversation("c")) == 4


# --- conversion -----------------------------------------------------------------------------------

CALL = {"id": "c1", "name": "look", "args": {"at": 1}, "type": "tool_call"}
TALK = [
    SystemMessage("Be brief."),
    HumanMessage(
        [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}},
        ]
    ),
    AIMessage("I look.", tool_calls=[CALL]),
    ToolMessage("row", tool_call_id="c1"),
    HumanMessage([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}, "and this"]),
    AIMessage("done"),
]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_messages_go_there_and_back(dialect):
    sent = dicts(TALK, dialect)
    assert restored(sent, TALK, sent) == TALK
    back = [one for message in sent for one in made_of(message)]
    assert [type(one) for one in back] == [type(one) for one in TALK]
    assert back[2].tool_calls == [CALL]
    assert (back[3].content, back[3].tool_call_id) == ("row", "c1")
    assert dicts(back, dialect) == sent


def test_dicts_of_openai():
    sent = dicts(TALK, "openai")
    assert sent[2]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    ]
    assert sent[4]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "and this"},
    ]
    broken = {"id": "c2", "name": None, "args": "{", "error": "", "type": "invalid_tool_call"}
    [one] = dicts(
        [AIMessage([{"type": "reasoning", "id": "r"}], invalid_tool_calls=[broken])], "openai"
    )
    assert one["content"] == ""
    assert one["tool_calls"][0]["function"] == {"name": "", "arguments": "{"}
    assert made_of(one)[0].tool_calls[0]["args"] == {}
    named = dicts([HumanMessage("x", name="ann"), FunctionMessage("y", name="f")], "openai")
    assert named == [
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "function", "name": "f", "content": "y"},
    ]


def test_dicts_of_anthropic():
    sent = dicts(TALK, "anthropic")
    assert sent[1]["content"][1] == {
        "type": "image",
        "source": {"type": "url", "url": "https://e.org/a.png"},
    }
    assert sent[3]["content"] == [{"type": "tool_result", "tool_use_id": "c1", "content": "row"}]
    assert sent[4]["content"][0]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "AAAA",
    }
    [failed] = dicts([ToolMessage("no", tool_call_id="c1", status="error")], "anthropic")
    assert failed["content"][0]["is_error"] is True
    assert made_of(failed)[0].status == "error"
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}
    [one] = dicts([AIMessage([use], tool_calls=[CALL])], "anthropic")
    assert one["content"] == [use]
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    [one] = dicts(
        [AIMessage([search, {"type": "file", "id": "f"}, {"type": "reasoning"}])], "anthropic"
    )
    assert one["content"] == [search, {"type": "text", "text": "[file]"}]
    both = {"role": "user", "content": [*failed["content"], {"type": "text", "text": "next"}]}
    assert [type(one) for one in made_of(both)] == [ToolMessage, HumanMessage]


@pytest.mark.parametrize(
    ("block", "url"),
    [
        ({"type": "image_url", "image_url": "https://e.org/a"}, "https://e.org/a"),
        ({"type": "image", "url": "https://e.org/b"}, "https://e.org/b"),
        ({"type": "image", "source": {"type": "url", "url": "https://e.org/c"}}, "https://e.org/c"),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/gif", "data": "BB"},
            },
            "data:image/gif;base64,BB",
        ),
        ({"type": "image", "file_id": "f"}, None),
    ],
)
def test_images_in_every_shape(block, url):
    [one] = dicts([HumanMessage([block])], "openai")
    expected = {"type": "image_url", "image_url": {"url": url}}
    assert one["content"] == [expected if url else {"type": "text", "text": "[image]"}]


def test_equal_messages_are_told_apart_from_the_end():
    same = [AIMessage("ok", id=f"{n}") for n in range(3)]
    talk = [same[0], HumanMessage("a"), same[1], HumanMessage("b"), same[2]]
    sent = dicts(talk, "openai")
    shown = restored([sent[0], {"role": "user", "content": "new"}, sent[3], sent[4]], talk, sent)
    assert [one.id for one in shown] == ["1", None, None, "2"]
    assert shown[1] == HumanMessage("new")
    assert shown[2] is talk[3]


def test_thinking_that_a_window_leaves_out_leaves_a_copy():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = AIMessage([thought, {"type": "text", "text": "ok"}], id="1", response_metadata={"a": 1})
    sent = dicts([said], "anthropic")
    [bare] = restored([{**sent[0], "content": sent[0]["content"][1:]}], [said], sent)
    assert bare.content == [{"type": "text", "text": "ok"}]
    assert (bare.id, bare.response_metadata) == ("1", {"a": 1})
    assert said.content[0] == thought


def test_what_has_no_place_in_a_request_is_refused():
    assert dicts([ChatMessage("x", role="critic")], "openai") == [
        {"role": "critic", "content": "x"}
    ]
    with pytest.raises(InvalidMessageError, match="RemoveMessage"):
        dicts([HumanMessage("x"), RemoveMessage(id="1")], "openai")


def test_langchain_is_imported_in_files_of_its_own():
    code = (
        "import sys, warmset.adapters.langchain as it; assert it.trim_messages;"
        "assert not any(name.split('.')[0] in ('langchain', 'langgraph') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path.cwd())  # noqa: S603 - fixed
