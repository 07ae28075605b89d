"""Single requests of Pydantic-AI's agents: what counts, what is told, and how a request ends."""

from __future__ import annotations

import threading

import anthropic
import pytest
from cancelling import ends_before

pytest.importorskip("pydantic_ai")
from pydantic_ai import Agent, BinaryContent, ToolReturn
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from warmset import Memory, PreparedCompaction
from warmset.adapters.pydantic_ai import CompactionEndEvent, CompactionStartEvent, WarmsetHistory
from warmset.adapters.pydantic_ai.capability import _instructions
from warmset.options import MODES
from warmset.summarize import AnthropicCompaction


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as made:
        yield made


def listening(agent):
    """Return the list that an agent's events of compactions go to."""
    events = []

    @agent.on_event
    async def note(_ctx, event):
        if isinstance(event, (CompactionStartEvent, CompactionEndEvent)):
            events.append(event)

    return events


async def test_the_start_of_a_summary_is_told_once_and_that_of_a_later_one_again(memory):
    go_on, begun = threading.Event(), []
    requests = []  # how many events there were at each

    def write(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        begun.append(len(requests))
        assert go_on.wait(30)
        return "Much was seen on the shelves."

    async def reply(_messages, _info):
        requests.append(len(events))
        if begun and len(requests) == begun[0] + 3:
            go_on.set()
        if len(requests) > 40:
            yield "done"
        else:
            yield {0: DeltaToolCall("look", '{"at": 1}', tool_call_id=f"c{len(requests)}")}

    policy = PreparedCompaction(summarizer=write, trigger_ratio=0.4, deadline=20.0)
    options = {"compaction": policy}
    capability = WarmsetHistory(memory, budget=1_500, mode="full", options=options)
    agent = Agent(FunctionModel(stream_function=reply), capabilities=[capability])

    @agent.tool_plain
    def look(at: int) -> str:
        return f"shelf {at}: " + "row " * 40

    events = listening(agent)
    await agent.run("Look at the shelves.", conversation_id="t")
    assert requests[begun[0] : begun[0] + 3] == [1, 1, 1]  # while the first was written
    kinds = [type(one) for one in events]
    assert kinds.count(CompactionStartEvent) >= 2
    assert kinds.index(CompactionEndEvent) > 0


@pytest.mark.parametrize("mode", ["auto", "steady", "full"])
async def test_of_a_short_list_nothing_is_told(memory, mode):
    agent = Agent(TestModel(), capabilities=[WarmsetHistory(memory, budget=2_000, mode=mode)])
    events, history = listening(agent), None
    for at in range(3):
        run = await agent.run(f"{at}?", message_history=history, conversation_id="t")
        history = run.all_messages()
    assert events == []


def test_a_providers_own_compaction_is_refused(memory):
    writer = AnthropicCompaction(client=anthropic.Anthropic(api_key="k"))
    options = {"compaction": PreparedCompaction(summarizer=writer)}
    with pytest.raises(UserError, match="cannot carry"):
        WarmsetHistory(memory, budget=900, options=options)


async def test_a_request_that_is_cancelled_ends_when_its_reply_is_stored(memory):
    model = TestModel(custom_output_text="ok")
    agent = Agent(model, capabilities=[WarmsetHistory(memory, budget=900)])

    def call():
        return agent.run("hi", conversation_id="t")

    assert not await ends_before(WarmsetHistory, "_note", call, turns=500)
    assert [one["content"] for one in memory.conversation("t")] == ["hi", "ok"]


class Claude(FunctionModel):
    """A model that says that its provider is Anthropic."""

    @property
    def system(self):
        return "anthropic"


async def test_a_conversation_stays_in_the_dialect_that_it_began_in(memory):
    def reply(_messages, _info):
        return ModelResponse([ThinkingPart("hm", signature="s"), TextPart("ok")])

    history = None
    for model in (Claude(reply), FunctionModel(reply)):
        agent = Agent(model, capabilities=[WarmsetHistory(memory, budget=900)])
        run = await agent.run("hi", message_history=history, conversation_id="t")
        history = run.all_messages()
        assert memory.conversation("t").dialect == "anthropic"
    said = memory.conversation("t").messages()
    assert len(said) == 4
    assert all(one["content"][0]["type"] == "thinking" for one in said[1::2])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("history", ["keep", "replace"])
async def test_results_of_several_calls_go_out_as_they_are(memory, mode, history):
    heard, calls = [], 0

    def reply(messages, _info):
        nonlocal calls
        heard.append(list(messages))
        calls += 1
        if calls % 2:
            given = [ToolCallPart("look", {"at": at}, f"c{calls}{at}") for at in range(3)]
            return ModelResponse(given)
        return ModelResponse([TextPart("Both were read.")])

    capability = WarmsetHistory(memory, budget=60_000, mode=mode, history=history)
    agent = Agent(Claude(reply), capabilities=[capability])

    @agent.tool_plain
    def look(at: int) -> ToolReturn:
        image = BinaryContent(b"png", media_type="image/png")
        return ToolReturn(f"shelf {at}", content=[image])

    said = None
    for at in range(4):
        run = await agent.run(f"Question {at}?", message_history=said, conversation_id="t")
        said = run.all_messages()
    for messages in heard[1::2]:
        parts = [part for message in messages[-1:] for part in message.parts]
        assert [part.content for part in parts[:3]] == ["shelf 0", "shelf 1", "shelf 2"]
        assert all(isinstance(part, ToolReturnPart) for part in parts[:3])
        images = [part.content for part in parts[3:]]
        assert len(images) == 3
        assert all(one[0].data == b"png" for one in images)
    assert len(memory.conversation("t")) == 4 * (1 + 1 + 6 + 1)


async def test_instructions_count(memory):
    capability = WarmsetHistory(memory, budget=900)
    agent = Agent(TestModel(), instructions="words " * 2_000, capabilities=[capability])
    with pytest.raises(UserError, match="budget"):
        await agent.run("hi", conversation_id="t")


def test_of_instructions_in_messages_the_newest_count():
    given = [
        ModelRequest([UserPromptPart("a")], instructions="old"),
        ModelResponse([TextPart("b")]),
        ModelRequest([UserPromptPart("c")], instructions="new"),
        ModelRequest([UserPromptPart("d")]),
    ]
    asked = ModelRequestContext(
        model=TestModel(),
        messages=given,
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    assert _instructions(given, asked) == "new"
    assert _instructions(given[3:], asked) == ""
