"""The tool of a payload with the real SDKs: their calls are understood, their servers take it."""

from __future__ import annotations

import pytest
from judging import SPEC

from warmset import Memory
from warmset.items import NewItem
from warmset.route import Router, context_tools

pytestmark = pytest.mark.usefixtures("no_proxy")

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("llmock", reason="the package llmock is not installed")


@pytest.fixture(scope="module")
def memory():
    with Memory.open(None, embedder="lexical") as one:
        one.items.put_many(
            [
                NewItem(
                    memory_type="document_chunk",
                    memory_id=f"n{n}",
                    text=f"Ship{n} and its margin. " * 20,
                )
                for n in range(9)
            ]
        )
        yield one


def chat(payload, kit, llmock):
    history = list(payload.messages)
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:
        made = client.chat.completions.create(model="m", messages=history, tools=kit.definitions)
        said = made.choices[0].message
        assert all(kit.handles(call) for call in said.tool_calls)
        history += [said, *kit.run_all(said.tool_calls)]
        client.chat.completions.create(model="m", messages=history, tools=kit.definitions)
    return history[-1]["content"]


def responses(payload, kit, llmock):
    history = list(payload.messages)
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:
        made = client.responses.create(model="m", input=history, tools=kit.definitions)
        calls = [item for item in made.output if kit.handles(item)]
        history += [*calls, *kit.run_all(calls)]
        client.responses.create(model="m", input=history, tools=kit.definitions)
    return history[-1]["output"]


def messages(payload, kit, llmock):
    history = list(payload.messages)
    with anthropic.Anthropic(base_url=llmock.base_url("anthropic"), api_key="k") as client:
        made = client.messages.create(
            model="m", max_tokens=99, messages=history, tools=kit.definitions
        )
        calls = [block for block in made.content if kit.handles(block)]
        history += [{"role": "assistant", "content": made.content}, *kit.run_all(calls)]
        client.messages.create(model="m", max_tokens=99, messages=history, tools=kit.definitions)
    return history[-1]["content"][0]["content"]


LOOPS = {"openai": chat, "responses": responses, "anthropic": messages}


@pytest.mark.parametrize(("dialect", "loop"), LOOPS.items(), ids=LOOPS)
def test_a_call_of_the_sdk_is_answered(memory, llmock, dialect, loop):
    payload = Router(memory, specs=[SPEC]).route(
        "dcf",
        query="What of the margin?",
        budget=700,
        dialect=dialect,
        tools=context_tools(dialect),
    )
    payload._more._left = 600
    out = [one.memory_id for one in payload.excluded]
    kit = payload.tools()
    llmock.call_tool("request_context", {"request": "", "ids": [out[0], "n99"]})
    text = loop(payload, kit, llmock)
    assert f"#{out[0]} (document_chunk, " in text
    assert '- "n99": it is no candidate of this task' in text
    assert [request.status for request in llmock.requests] == [200, 200]
