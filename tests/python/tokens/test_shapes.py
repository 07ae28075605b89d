"""What counts as text in the five dialects, and the formulas around it."""

# ruff: noqa: E501 - published examples

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, strategies as st

from warmset import count_tokens
from warmset._core import count_text
from warmset.errors import InvalidInputError
from warmset.tokens import (
    PER_CALL,
    PER_FILE,
    PER_IMAGE,
    PER_MESSAGE,
    PER_REPLY,
    extra_tokens,
    message_tokens,
)

NOISE = base64.b64encode(bytes(range(256)) * 40).decode()
ID = "call_9f86d081884c7d659a2feaa0c55ad015"


def cost(message):
    """Count one message without its overhead."""
    return message_tokens([message], "o200k_base")[0] - PER_MESSAGE


def said(*texts):
    """Count texts."""
    return sum(count_text(text)[0] for text in texts)


CALL = {"name": "look_up", "arguments": '{"city":"Oslo"}'}
RESULT = {"temperature": 4, "sky": "clear"}
JSON_RESULT = json.dumps(RESULT, separators=(",", ":"))
CASES = {
    "chat": ({"role": "user", "content": "the kite"}, said("the kite")),
    "chat parts": (
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        said("a", "b"),
    ),
    "chat call": (
        {"role": "assistant", "content": None, "tool_calls": [{"id": ID, "function": CALL}]},
        PER_CALL + said("look_up", '{"city":"Oslo"}'),
    ),
    "chat custom call": (
        {"role": "assistant", "tool_calls": [{"id": ID, "custom": {"name": "f", "input": "x y"}}]},
        PER_CALL + said("f", "x y"),
    ),
    "chat legacy call": (
        {"role": "assistant", "content": None, "function_call": CALL},
        PER_CALL + said("look_up", '{"city":"Oslo"}'),
    ),
    "chat result": ({"role": "tool", "tool_call_id": ID, "content": "4"}, said("4")),
    "chat name": ({"role": "user", "name": "Ada", "content": "hm"}, 1 + said("Ada", "hm")),
    "chat refusal": ({"role": "assistant", "refusal": "I will not."}, said("I will not.")),
    "chat sound": ({"role": "assistant", "content": "hm", "audio": {"id": ID}}, said("hm")),
    "chat file": (
        {
            "role": "user",
            "content": [
                {
                    "type": "file",
                    "file": {
                        "filename": "a.pdf",
                        "file_data": f"data:application/pdf;base64,{NOISE}",
                    },
                }
            ],
        },
        PER_FILE + said("a.pdf"),
    ),
    "responses message": (
        {
            "type": "message",
            "id": ID,
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": [], "logprobs": []}],
        },
        said("done"),
    ),
    "responses call": (
        {"type": "function_call", "id": ID, "call_id": ID, **CALL},
        PER_CALL + said("look_up", '{"city":"Oslo"}'),
    ),
    "responses output": (
        {"type": "function_call_output", "call_id": ID, "output": "4 degrees"},
        PER_CALL + said("4 degrees"),
    ),
    "responses output parts": (
        {
            "type": "function_call_output",
            "call_id": ID,
            "output": [{"type": "input_text", "text": "4"}],
        },
        PER_CALL + said("4"),
    ),
    "responses reasoning": (
        {
            "type": "reasoning",
            "id": ID,
            "summary": [{"type": "summary_text", "text": "I look it up."}],
            "encrypted_content": NOISE,
        },
        said("I look it up."),
    ),
    "responses sealed reasoning": (
        {"type": "reasoning", "summary": [], "encrypted_content": NOISE},
        0,
    ),
    "responses image by id": (
        {"role": "user", "content": [{"type": "input_image", "file_id": ID}]},
        PER_IMAGE,
    ),
    "responses file": (
        {"role": "user", "content": [{"type": "input_file", "file_id": ID}]},
        PER_FILE,
    ),
    "responses screenshot": (
        {
            "type": "computer_call_output",
            "call_id": ID,
            "output": {"type": "computer_screenshot", "image_url": "https://a.b/c.png"},
        },
        PER_CALL + PER_IMAGE,
    ),
    "responses drawing": (
        {"type": "image_generation_call", "id": ID, "status": "completed", "result": NOISE},
        PER_CALL + PER_IMAGE,
    ),
    "anthropic call": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look.", "signature": NOISE},
                {"type": "redacted_thinking", "data": NOISE},
                {"type": "tool_use", "id": ID, "name": "f", "input": {"data": "x", "id": 1}},
            ],
        },
        PER_CALL + said("Look.", "f", '{"data":"x","id":1}'),
    ),
    "anthropic result": (
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": ID,
                    "content": [{"type": "text", "text": "4"}],
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
        PER_CALL + said("4"),
    ),
    "anthropic search result": (
        {
            "role": "assistant",
            "content": [
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": ID,
                    "content": [
                        {"type": "web_search_result", "title": "T", "encrypted_content": NOISE}
                    ],
                }
            ],
        },
        PER_CALL + said("T"),
    ),
    "anthropic documents": (
        {
            "role": "user",
            "content": [
                {"type": "document", "source": {"type": "text", "data": "the text"}, "title": "T"},
                {"type": "document", "source": {"type": "base64", "data": NOISE}},
                {"type": "document", "source": {"type": "content", "content": "more"}},
            ],
        },
        PER_FILE + said("the text", "T", "more"),
    ),
    "anthropic image": (
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
        PER_IMAGE,
    ),
    "anthropic compaction": (
        {"role": "assistant", "content": [{"type": "compaction", "content": "So far."}]},
        said("So far."),
    ),
    "gemini text": (
        {"role": "user", "parts": [{"text": "the kite"}, {"text": "hm", "thought": True}]},
        said("the kite", "hm"),
    ),
    "gemini call": (
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"id": ID, "name": "f", "args": RESULT},
                    "thoughtSignature": NOISE,
                }
            ],
        },
        PER_CALL + said("f", JSON_RESULT),
    ),
    "gemini response": (
        {
            "role": "user",
            "parts": [{"function_response": {"name": "f", "response": RESULT}}],
        },
        PER_CALL + said("f", JSON_RESULT),
    ),
    "gemini data": (
        {
            "role": "user",
            "parts": [
                {"inlineData": {"mimeType": "audio/mp3", "data": NOISE}},
                {"inline_data": {"mime_type": "text/plain", "data": "dGhlIGtpdGU="}},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://a.b/c"}},
                {"text": "see"},
            ],
        },
        PER_FILE + PER_IMAGE + said("the kite", "see"),
    ),
    "gemini code": (
        {
            "role": "model",
            "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            ],
        },
        said("PYTHON", "print(1)", "OUTCOME_OK", "1"),
    ),
    "interactions input": (
        {
            "type": "user_input",
            "content": [{"type": "text", "text": "the kite", "annotations": [{"a": 1}]}],
        },
        said("the kite"),
    ),
    "interactions output": (
        {
            "type": "model_output",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        said("a", "b"),
    ),
    "interactions thought": (
        {"type": "thought", "signature": NOISE, "summary": [{"type": "text", "text": "hm"}]},
        said("hm"),
    ),
    "interactions call": (
        {"type": "function_call", "id": ID, "name": "f", "arguments": RESULT, "signature": NOISE},
        PER_CALL + said("f", JSON_RESULT),
    ),
    "interactions result": (
        {"type": "function_result", "call_id": ID, "name": "f", "result": "the kite"},
        PER_CALL + said("f", "the kite"),
    ),
    "interactions result that is a mapping": (
        {"type": "function_result", "call_id": ID, "name": "f", "result": {"id": "x", "text": "y"}},
        PER_CALL + said("f", '{"id":"x","text":"y"}'),
    ),
    "interactions result of blocks": (
        {
            "type": "function_result",
            "call_id": ID,
            "name": "f",
            "result": [{"type": "text", "text": "see"}, {"type": "image", "uri": "https://a.b/c"}],
        },
        PER_CALL + PER_IMAGE + said("f", "see"),
    ),
    "interactions files": (
        {
            "type": "user_input",
            "content": [
                {"type": "audio", "mime_type": "audio/mp3", "data": NOISE},
                {"type": "video", "uri": "https://a.b/c", "resolution": "low"},
                {"type": "document", "mime_type": "application/pdf", "data": NOISE},
                {"type": "document", "mime_type": "text/csv", "data": "dGhlIGtpdGU="},
                {"type": "image", "mime_type": "image/png", "uri": "https://a.b/c"},
            ],
        },
        3 * PER_FILE + PER_IMAGE + said("the kite"),
    ),
    "interactions search": (
        {
            "type": "google_search_call",
            "id": ID,
            "arguments": {"queries": ["kites"]},
            "signature": NOISE,
        },
        PER_CALL + said('{"queries":["kites"]}'),
    ),
    "interactions search result": (
        {
            "type": "google_search_result",
            "call_id": ID,
            "result": [{"search_suggestions": "kites"}],
            "signature": NOISE,
        },
        said("kites"),
    ),
    "an unknown block": (
        {"role": "user", "content": [{"type": "hologram", "caption": "a kite", "id": ID}]},
        said("a kite"),
    ),
    "an unknown data URL": (
        {"role": "user", "content": [{"type": "hologram", "url": f"data:x/y;base64,{NOISE}"}]},
        PER_FILE,
    ),
}


@pytest.mark.parametrize(("message", "tokens"), CASES.values(), ids=CASES)
def test_what_reaches_the_model_counts(message, tokens):
    before = json.dumps(message)
    assert cost(message) == tokens
    assert json.dumps(message) == before
    assert count_tokens([message]) == tokens + PER_MESSAGE + PER_REPLY


def test_both_spellings_of_gemini_count_alike():
    camel = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}
    snake = {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": 1}}}]}
    assert cost(camel) == cost(snake)


@given(st.lists(st.sampled_from([message for message, _ in CASES.values()]), max_size=12))
def test_costs_are_additive(messages):
    alone = [message_tokens([message], "o200k_base")[0] for message in messages]
    assert message_tokens(messages, "o200k_base") == alone
    assert count_tokens(messages) == sum(alone) + PER_REPLY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "source", "parts", "image_url", "data",
                             "function", "inlineData", "file", "input", "x"]),
            inner, max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["role", "type", "content", "parts", "tool_calls", "name",
                                        "function_call", "output", "summary"]), JSON))  # fmt: skip
def test_no_message_is_a_trap(message):
    for encoding in ("o200k_base", "estimate"):
        assert message_tokens([message], encoding)[0] >= PER_MESSAGE


COOKBOOK = [
    {"role": "system", "content": "You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},
    {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
    {"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
    {"role": "system", "name": "example_user", "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},
    {"role": "system", "name": "example_assistant", "content": "Let's talk later when we're less busy about how to do better."},
    {"role": "user", "content": "This late pivot means we don't have time to boil the ocean for the client deliverable."},
]  # fmt: skip
WEATHER = {
    "name": "get_current_weather",
    "description": "Get the current weather in a given location",
    "parameters": {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "The city and state, e.g. San Francisco, CA",
            },
            "unit": {
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        },
        "required": ["location"],
    },
}
ASKED = [
    {
        "role": "system",
        "content": "You are a helpful assistant that can answer to questions about the weather.",
    },
    {"role": "user", "content": "What's the weather like in San Francisco?"},
]


@pytest.mark.parametrize(
    ("model", "plain", "with_tools"), [("gpt-4o", 124, 101), ("gpt-4", 129, 105)]
)
def test_the_published_examples_of_openai(model, plain, with_tools):
    """What the API counted for the cookbook's examples."""
    assert count_tokens(COOKBOOK, model=model) == plain
    tools = [{"type": "function", "function": WEATHER}]
    assert count_tokens(ASKED, model=model, tools=tools) == with_tools


def test_tools_of_the_other_dialects():
    chat = extra_tokens("o200k_base", tools=[{"type": "function", "function": WEATHER}])
    assert extra_tokens("o200k_base", tools=[{"type": "function", **WEATHER}]) == chat
    assert extra_tokens("o200k_base", tools=[{"functionDeclarations": [WEATHER]}]) == chat
    assert extra_tokens("o200k_base", tools=[{"function_declarations": [WEATHER]}]) == chat
    renamed = {key: value for key, value in WEATHER.items() if key != "parameters"}
    anthropic = {**renamed, "input_schema": WEATHER["parameters"]}
    text = json.dumps(anthropic, separators=(",", ":"))
    assert extra_tokens("o200k_base", tools=[anthropic]) == 346 + PER_CALL + said(text)
    marked = {**anthropic, "cache_control": {"type": "ephemeral"}}
    assert extra_tokens("o200k_base", tools=[marked]) == 346 + PER_CALL + said(text)


def test_the_properties_of_a_list_s_items_cost_what_those_of_an_object_do():
    def tools(inner):
        parameters = {"type": "object", "properties": {"x": inner}}
        return [{"type": "function", "function": {"name": "f", "parameters": parameters}}]

    inner = {"properties": {"deep": {"type": "string", "enum": ["a", "b"]}}}
    listed = extra_tokens("o200k_base", tools=tools({"type": "array", "items": inner}))
    assert listed == extra_tokens("o200k_base", tools=tools({"type": "array", **inner}))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "object", "properties": {"deep": {"type": "string"}}}},
        {"type": "object", "properties": {"deep": {"type": "string", "description": "Words."}}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "description": "Words"},
    ],
)
def test_a_richer_schema_costs_more(schema):
    def tools(inner):
        parameters = {"type": "object", "properties": {"x": inner}}
        return [{"type": "function", "function": {"name": "f", "parameters": parameters}}]

    plain = extra_tokens("o200k_base", tools=tools({}))
    assert extra_tokens("o200k_base", tools=tools(schema)) > plain


def test_a_system_prompt_in_each_dialect():
    chat = extra_tokens("o200k_base", system="Be brief.")
    assert chat == PER_MESSAGE + said("Be brief.")
    assert extra_tokens("o200k_base", system=[{"type": "text", "text": "Be brief."}]) == chat
    assert extra_tokens("o200k_base", system={"parts": [{"text": "Be brief."}]}) == chat


@given(JSON)
def test_no_tool_is_a_trap(value):
    for tool in ({"type": "function", "function": value}, {"functionDeclarations": [value]},
                 {"type": "function", "parameters": value}, {"input_schema": value}):  # fmt: skip
        assert extra_tokens("o200k_base", tools=[tool]) >= 0


@pytest.mark.parametrize("tools", ["f", {"name": "f"}, ["f"], [None]], ids=repr)
def test_tools_are_a_list_of_schemas(tools):
    with pytest.raises(InvalidInputError, match="list of schemas"):
        extra_tokens("o200k_base", tools=tools)
