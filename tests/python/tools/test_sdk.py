"""The tools with the real SDKs: their calls are understood, and their servers take the answers."""

from __future__ import annotations

import pytest

from warmset import Memory

pytestmark = pytest.mark.usefixtures("no_proxy")

anthropic = pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
openai = pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("llmock", reason="the package llmock is not installed")

ASK = "What did we say of the pool?"


@pytest.fixture
def talk():
    with Memory.open(None, embedder="lexical") as memory:
        conversation = memory.conversation("log")
        conversation.append({"role": "user", "content": "Keep the pool at 12."})
        conversation.append({"role": "user", "content": "Rename the button."})
        yield conversation


def chat(kit, llmock):
    history = [{"role": "user", "content": ASK}]
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:
        made = client.chat.completions.create(model="m", messages=history, tools=kit.definitions)
        said = made.choices[0].message
        assert all(kit.handles(call) for call in said.tool_calls)
        history += [said, *kit.run_all(said.tool_calls)]
        client.chat.completions.create(model="m", messages=history, tools=kit.definitions)
    return history[-1]["content"]


def responses(kit, llmock):
    history = [{"role": "user", "content": ASK}]
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:
        made = client.responses.create(model="m", input=history, tools=kit.definitions)
        calls = [item for item in made.output if kit.handles(item)]
        history += [*calls, *kit.run_all(calls)]
        client.responses.create(model="m", input=history, tools=kit.definitions)
    return history[-1]["output"]


def messages(kit, llmock):
    history = [{"role": "user", "content": ASK}]
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
def test_a_call_of_the_sdk_is_answered(talk, llmock, dialect, loop):
    kit = talk.tools(budget=900, dialect=dialect)
    llmock.call_tool("fetch_turns", {"ids": [talk.ids[0], 99]})
    text = loop(kit, llmock)
    assert f"#{talk.ids[0]} user: Keep the pool at 12." in text
    assert "no turns #99" in text
    assert [request.status for request in llmock.requests] == [200, 200]


@pytest.mark.parametrize(("dialect", "loop"), list(LOOPS.items())[:2], ids=list(LOOPS)[:2])
def test_arguments_that_are_no_json_are_told(talk, llmock, dialect, loop):
    kit = talk.tools(budget=900, dialect=dialect)
    llmock.call_tool("search_turns", {"query": "pool"}).break_tool_call("malformed_arguments")
    assert "not valid JSON" in loop(kit, llmock)
    assert kit.granted == ()
