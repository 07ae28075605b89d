"""The capability of Pydantic-AI's adapter: real agents on its models for tests."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import provider_servers
import pytest

pytest.importorskip("pydantic_ai")
from bound_servers import BoundMessages
from pydantic_ai import Agent, BinaryContent, ImageUrl, ToolOutput
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    CachePoint,
    CompactionPart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from reply_streams import EVENTS, sse
from werkzeug import Response

from warmset import Memory, PreparedCompaction
from warmset.adapters.pydantic_ai import CompactionEndEvent, CompactionStartEvent, WarmsetHistory
from warmset.adapters.pydantic_ai.conversion import pieces, restored

REQUESTS = 28 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 8


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


class Player:
    """Plays a model: calls the tool for each question, then answers."""

    def __init__(self):
        self.sent = []

    def parts(self, messages):
        self.sent.append(list(messages))
        number = len(self.sent)
        if isinstance(messages[-1].parts[-1], UserPromptPart):
            return [ToolCallPart("look", {"at": number}, tool_call_id=f"c{number}")]
        return [TextPart(f"Answer {number}: " + "word " * 40)]

    def reply(self, messages, _info):
        return ModelResponse([ThinkingPart("hm"), *self.parts(messages)])

    async def stream(self, messages, _info):
        for part in self.parts(messages):
            if isinstance(part, TextPart):
                yield part.content
            else:
                args = json.dumps(part.args)
                yield {0: DeltaToolCall(part.tool_name, args, tool_call_id=part.tool_call_id)}

    def model(self):
        return FunctionModel(self.reply, stream_function=self.stream)


def agent_of(model, *capabilities, **options):
    agent = Agent(model, instructions="Be brief.", capabilities=list(capabilities), **options)

    @agent.tool_plain
    def look(at: int) -> str:
        return f"shelf {at}: " + "row " * 40

    return agent


async def talk(agent, count, name, history=None):
    for number in range(count):
        run = await agent.run(f"Question {number}?", message_history=history, conversation_id=name)
        history = run.all_messages()
    return history


def texts(messages):
    return [one["content"] for one in messages if one["role"] == "user"]


async def test_what_is_sent_is_a_window_and_the_history_stays(memory):
    player = Player()
    agent = agent_of(player.model(), WarmsetHistory(memory, budget=1_200))
    history = await talk(agent, 12, "t")
    conversation = memory.conversation("t")
    assert len(history) == len(conversation) == 48
    assert len(player.sent[-1]) < 15
    assert texts(conversation) == [f"Question {n}?" for n in range(12)]
    whole = [one for one in player.sent[-1] if any(one is given for given in history)]
    assert len(whole) >= 3  # the very objects
    assert all(
        isinstance(part, ThinkingPart)
        for one in whole
        if one.kind == "response"
        for part in one.parts[:1]
    )


@pytest.mark.parametrize("mode", ["auto", "steady", "recency"])
async def test_a_window_that_comes_back_is_recognised(memory, mode):
    player = Player()
    capability = WarmsetHistory(memory, budget=1_200, history="replace", mode=mode)
    agent = agent_of(player.model(), capability)
    history = await talk(agent, 12, "t")
    assert len(history) < 48
    assert texts(memory.conversation("t")) == [f"Question {n}?" for n in range(12)]
    # Written and read again, as an application keeps it.
    history = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))
    await talk(agent, 3, "t", history)
    assert len(memory.conversation("t")) == 60


async def test_the_model_for_tests(memory):
    agent = agent_of(TestModel(), WarmsetHistory(memory, budget=1_200))
    history = await talk(agent, 6, "t")
    assert len(memory.conversation("t")) == len(history)
    async with agent.run_stream("more", message_history=history, conversation_id="t") as streamed:
        await streamed.get_output()
    assert len(memory.conversation("t")) == len(streamed.all_messages())


async def test_events_say_when_a_list_is_made_anew(memory):
    player, events = Player(), []
    policy = PreparedCompaction(deadline=20.0, trigger_ratio=0.4)
    capability = WarmsetHistory(memory, budget=1_500, mode="full", options={"compaction": policy})
    agent = agent_of(player.model(), capability)

    @agent.on_event
    async def note(_ctx, event):
        if isinstance(event, (CompactionStartEvent, CompactionEndEvent)):
            events.append(event)

    await talk(agent, 16, "t")
    started = [one for one in events if isinstance(one, CompactionStartEvent)]
    ended = [one for one in events if isinstance(one, CompactionEndEvent)]
    assert started
    assert ended
    one = ended[0]
    assert one.conversation == "t"
    assert one.summary_tokens > 0
    assert one.tokens_after <= 1_500 < one.tokens_before
    assert one.messages_after < one.messages_before
    events.clear()
    agent = agent_of(player.model(), WarmsetHistory(memory, budget=1_200, mode="steady"))
    agent.on_event(note)
    await talk(agent, 10, "steady")
    assert [type(one) for one in events] == [CompactionEndEvent] * len(events)
    assert events
    assert all(one.why and one.summary_tokens == 0 for one in events)


class Streaming(BoundMessages):
    """The same provider, for clients that stream."""

    def respond(self, request):
        answer = super().respond(request)
        if answer.status_code != 200:
            return answer
        reply = json.loads(answer.data)
        return Response(sse(*events_of(reply), named=True), 200, content_type=EVENTS)


def events_of(reply):
    """Yield the events of a reply's stream."""
    yield {"type": "message_start", "message": {**reply, "content": []}}
    for index, block in enumerate(reply["content"]):
        start, deltas = dict(block), []
        if block["type"] == "text":
            start["text"], deltas = "", [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            start.update(thinking="", signature="")
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] in ("tool_use", "server_tool_use"):
            start["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ends = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ends, "usage": reply["usage"]}
    yield {"type": "message_stop"}


@pytest.mark.usefixtures("no_proxy")
async def test_thinking_is_kept_where_a_provider_binds_it(httpserver, memory, monkeypatch):
    # A client leaves out searches that its agent has no tool for.
    monkeypatch.setattr(provider_servers, "_search", lambda _: [])
    provider = Streaming(httpserver)
    model = AnthropicModel(
        "claude-opus-5-5",
        provider=AnthropicProvider(api_key="k", base_url=provider.url.rstrip("/")),
    )
    agent = Agent(
        model, instructions="Be brief.", capabilities=[WarmsetHistory(memory, budget=4_000)]
    )

    @agent.tool_plain
    def look(at: int) -> str:
        return f"shelf {at}: " + "row " * 40

    history = None
    missing = []
    for number in range(REQUESTS):
        run = await agent.run(f"Question {number}?", message_history=history, conversation_id="t")
        history = run.all_messages()
        left_out = provider.bindings.left_out(provider.body)
        missing += [one for one in left_out if not provider.bindings.would_drop(provider.body, one)]
    assert provider.errors == []
    assert missing == []
    conversation = memory.conversation("t")
    assert conversation.dialect == "anthropic"
    assert provider.served == 4 * REQUESTS
    assert texts(conversation)[0] == "Question 0?"


async def test_runs_at_once_each_in_their_conversation(memory):
    player = Player()
    agent = agent_of(player.model(), WarmsetHistory(memory, budget=1_200))
    histories = await asyncio.gather(*(talk(agent, 2, f"t{n}") for n in range(20)))
    assert memory.conversations().sort() is None
    for n, history in enumerate(histories):
        assert len(memory.conversation(f"t{n}")) == len(history) == 8


async def test_each_run_has_an_instance_of_its_own(memory):
    given = WarmsetHistory(memory, budget=1_200)
    one, two = [await given.for_run(None) for _ in range(2)]
    assert len({id(each) for each in (given, one, two)}) == 3
    assert given == one == two


async def test_the_tools_of_an_output_count(memory):
    def long(answer: str) -> str:
        return answer

    agent = agent_of(
        TestModel(),
        WarmsetHistory(memory, budget=1_200),
        output_type=ToolOutput(long, description="words " * 2_000),
    )
    with pytest.raises(UserError, match="budget"):
        await agent.run("Question?", conversation_id="t")


async def test_what_cannot_be_used_is_refused(memory):
    with pytest.raises(UserError, match="history: expected"):
        WarmsetHistory(memory, budget=900, history="forget")
    with pytest.raises(UserError, match="system: each request"):
        WarmsetHistory(memory, budget=900, options={"system": "x"})
    player = Player()
    for capability, message in (
        (WarmsetHistory(memory, budget=30), "need"),
        (WarmsetHistory(memory, budget=-3), "budget"),
        (WarmsetHistory(memory, budget=900, conversation=lambda _: ""), "expected a name"),
    ):
        with pytest.raises(UserError, match=message):
            await agent_of(player.model(), capability).run("word " * 200)
    memory.conversation("g").append({"role": "user", "parts": [{"text": "hi"}]})
    with pytest.raises(UserError, match="'gemini'"):
        await agent_of(player.model(), WarmsetHistory(memory, budget=900, conversation="g")).run(
            "x"
        )
    assert player.sent == []


CHILD = """
import os, signal, sys
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from warmset import Memory
from warmset.adapters.pydantic_ai import WarmsetHistory

memory = Memory.open(sys.argv[1], embedder="lexical")
kept = WarmsetHistory(memory, budget=900)
agent = Agent(TestModel(custom_output_text="first answer"), capabilities=[kept])
agent.run_sync("first question", conversation_id="c")
os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_goes_on_after_a_process_that_was_killed(tmp_path):
    subprocess.run([sys.executable, "-c", CHILD, str(tmp_path / "s")], check=False, timeout=60)  # noqa: ASYNC221, S603 - fixed
    with Memory.open(tmp_path / "s", embedder="lexical") as memory:
        said = [one["content"] for one in memory.conversation("c")]
        assert said == ["first question", "first answer"]
        agent = Agent(TestModel(), capabilities=[WarmsetHistory(memory, budget=900)])
        history = [
            ModelRequest([UserPromptPart("first question")]),
            ModelResponse([TextPart("first answer")]),
        ]
        await agent.run("second", message_history=history, conversation_id="c")
        assert len(memory.conversation("c")) == 4


# --- conversion -----------------------------------------------------------------------------------

TALK = [
    ModelRequest(
        [SystemPromptPart("Be brief."), UserPromptPart(["see", ImageUrl("https://e.org/a.png")])]
    ),
    ModelResponse(
        [
            ThinkingPart("hm", signature="s"),
            TextPart("I look."),
            ToolCallPart("look", {"at": 1}, "c1"),
            ToolCallPart("look", '{"at": 2}', "c2"),
        ]
    ),
    ModelRequest(
        [
            ToolReturnPart("look", {"rows": 1}, "c1"),
            ToolReturnPart("look", "no such shelf", "c2", outcome="retried"),
            UserPromptPart(
                ["and this", BinaryContent(b"abc", media_type="image/png"), CachePoint()]
            ),
        ]
    ),
    ModelResponse([TextPart("done")]),
    ModelRequest(
        [
            RetryFeedbackPart("again", retry=RetryInfo(cause="model_retry")),
            CompactionPart("summary"),
        ]
    ),
    ModelRequest([]),
]


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_messages_go_there_and_back(dialect):
    sent = pieces(TALK, dialect)
    assert len(sent) == 9
    back = restored([piece.message for piece in sent], TALK, sent)
    assert len(back) == len(TALK)
    assert all(one is given for one, given in zip(back, TALK, strict=True))


def test_pieces_of_openai():
    sent = [piece.message for piece in pieces(TALK, "openai")]
    assert sent[1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "https://e.org/a.png"},
    }
    assert [call["function"]["arguments"] for call in sent[2]["tool_calls"]] == [
        '{"at":1}',
        '{"at":2}',
    ]
    assert sent[3] == {"role": "tool", "tool_call_id": "c1", "content": '{"rows":1}'}
    assert sent[4]["tool_call_id"] == "c2"
    assert "no such shelf" in sent[4]["content"]
    assert sent[5]["content"][1]["image_url"]["url"] == "data:image/png;base64,YWJj"
    assert len(sent[5]["content"]) == 2
    assert [one["role"] for one in sent[6:]] == ["assistant", "user", "user"]


def test_pieces_of_anthropic():
    sent = [piece.message for piece in pieces(TALK, "anthropic")]
    assert [block["type"] for block in sent[2]["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert sent[2]["content"][3]["input"] == {"at": 2}
    assert "is_error" not in sent[3]["content"][0]
    assert sent[4]["content"][0]["is_error"] is True
    assert sent[5]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "YWJj",
    }
    redacted = ModelResponse(
        [ThinkingPart("", id="redacted_thinking", signature="x"), TextPart("")]
    )
    [one] = pieces([redacted], "anthropic")
    assert one.message["content"] == [{"type": "redacted_thinking", "data": "x"}]


def test_some_parts_of_a_request_are_shown():
    sent = pieces(TALK, "openai")
    window = [
        sent[0].message,
        {"role": "user", "content": "quoted"},
        sent[4].message,
        sent[5].message,
    ]
    first, quoted, rest, *end = restored(window, TALK, sent)
    assert first.parts == TALK[0].parts[:1]
    assert quoted.parts[0].content == "quoted"
    assert rest.parts == TALK[2].parts[1:]
    assert end == [TALK[5]]
    split = [sent[3].message, {"role": "user", "content": "quoted"}, sent[5].message]
    before, _, after, *_ = restored(split, TALK, sent)
    assert (before.parts, after.parts) == (TALK[2].parts[:1], TALK[2].parts[2:])


def test_parts_that_no_message_stands_for_go_with_the_first_that_is_shown():
    spoken = SpeechPart(speaker="user")
    request = ModelRequest([UserPromptPart("a"), spoken, UserPromptPart("b")])
    sent = pieces([request], "openai")
    assert [piece.message["content"] for piece in sent] == ["a", "b"]
    window = [sent[0].message, {"role": "user", "content": "quoted"}, sent[1].message]
    first, _, last = restored(window, [request], sent)
    assert (first.parts, last.parts) == (request.parts[:2], request.parts[2:])


def test_what_anthropic_would_refuse_in_a_response_is_left_out():
    said = ModelResponse([ThinkingPart("unsigned"), TextPart(""), TextPart("ok")])
    [one] = pieces([said], "anthropic")
    assert one.message["content"] == [{"type": "text", "text": "ok"}]


def test_thinking_that_a_window_leaves_out_leaves_a_copy():
    sent = pieces(TALK, "anthropic")
    said = sent[2].message
    [one, _] = restored([{**said, "content": said["content"][1:]}], TALK, sent)
    assert one.parts == TALK[1].parts[1:]
    assert len(TALK[1].parts) == 4


def test_what_a_window_adds_is_made():
    added = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "image_url"}]},
    ]
    made = restored(added, [], [])
    assert [type(one.parts[0]) for one in made] == [
        SystemPromptPart,
        TextPart,
        ToolReturnPart,
        UserPromptPart,
    ]
    assert made[3].parts[0].content == "u\n\n[image_url]"
