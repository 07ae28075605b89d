"""Windows sent by the real SDKs: each reply and each result goes back into the conversation."""

from __future__ import annotations

import json
import re

import pytest

from warmset import Memory, validate

pytestmark = pytest.mark.usefixtures("no_proxy")

pytest.importorskip("llmock", reason="the package llmock is not installed")

FACT = "Keep the pool at 12."
ASK = "What did we say of the pool?"


@pytest.fixture
def memory():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened


def exchange(memory, dialect, call, steps=2):
    """Ask, answer the calls of the reply, and ask again; return the conversation."""
    chat = memory.conversation(dialect)
    first = {"parts": [{"text": FACT}]} if dialect == "gemini" else {"content": FACT}
    chat.append({"role": "user", **first})
    for _ in range(steps):
        kit = chat.tools(budget=900, dialect=dialect)
        query = None if len(chat) > 1 else ASK
        options = {"dialect": dialect, "system": "Be brief.", "tools": kit.definitions}
        window = chat.window(query, budget=3_000, **options)
        assert validate(window.messages, dialect=dialect) == []
        reply, calls = call(window)
        chat.append(reply)
        if calls:
            chat.append(kit.run_all(calls))
    assert chat.dialect == dialect
    return chat


def test_openai_chat(memory, llmock):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:

        def call(window):
            made = client.chat.completions.create(model="m", **window.openai())
            message = made.choices[0].message
            return message, message.tool_calls

        llmock.call_tool("search_turns", {"query": "pool"})
        chat = exchange(memory, "openai", call)
    assert [request.status for request in llmock.requests] == [200, 200]
    stored = dict(chat.fetch(chat.ids[1]))
    assert set(stored) == {"role", "content", "tool_calls"}


def test_openai_responses(memory, llmock):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=llmock.base_url(), api_key="k") as client:

        def call(window):
            made = client.responses.create(model="m", **window.responses())
            return made.output, [item for item in made.output if item.type == "function_call"]

        llmock.call_tool("search_turns", {"query": "pool"})
        exchange(memory, "responses", call)
    assert [request.status for request in llmock.requests] == [200, 200]


def test_anthropic(memory, llmock):
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=llmock.base_url("anthropic"), api_key="k") as client:

        def call(window):
            made = client.messages.create(model="m", max_tokens=99, **window.anthropic())
            return made, [block for block in made.content if block.type == "tool_use"]

        llmock.call_tool("search_turns", {"query": "pool"})
        chat = exchange(memory, "anthropic", call)
    assert [request.status for request in llmock.requests] == [200, 200]
    assert set(dict(chat.fetch(chat.ids[1]))) == {"role", "content"}


def test_gemini(memory, httpserver):
    genai = pytest.importorskip("google.genai")
    part = {"functionCall": {"name": "search_turns", "args": {"query": "pool"}}}
    content = {"role": "model", "parts": [part | {"thoughtSignature": "_-8="}]}
    where = re.compile(r"/v1\w*/models/m:generateContent")
    httpserver.expect_request(where, method="POST").respond_with_json(
        {"candidates": [{"content": content, "finishReason": "STOP"}]}
    )
    client = genai.Client(api_key="k", http_options={"base_url": httpserver.url_for("")})
    try:

        def call(window):
            made = client.models.generate_content(model="m", **window.gemini())
            return made.candidates[0].content, made.function_calls

        exchange(memory, "gemini", call)
    finally:
        client.close()
    httpserver.check()
    first, second = [json.loads(request.data) for request, _ in httpserver.log]
    assert first["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    declared = first["tools"][0]["functionDeclarations"]
    assert [one["name"] for one in declared] == ["fetch_turns", "search_turns"]
    assert [one["role"] for one in second["contents"]] == ["user", "model", "user"]
    assert second["contents"][1] == content
    assert "functionResponse" in second["contents"][2]["parts"][0]
