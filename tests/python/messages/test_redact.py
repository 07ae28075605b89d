"""Every text of a message is rewritten, in every dialect, and nothing else of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from warmset.messages import DIALECTS, dumps, validate
from warmset.messages.redact import redacted, redacted_data
from warmset.testing import histories

SECRET = "hunter2"  # noqa: S105 - an example
PNG = "data:image/png;base64,hunter2+"


def hide(text):
    return text.replace(SECRET, "***")


TEXTS = [
    {"role": "user", "content": f"it is {SECRET}"},
    {"role": "user", "name": SECRET, "content": "hi"},
    {"role": "user", "content": [{"type": "text", "text": SECRET}]},
    {"role": "assistant", "content": None, "refusal": SECRET},
    {"role": "assistant", "content": "", "reasoning_content": SECRET},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "f", "arguments": f'{{"a":"{SECRET}"}}'},
            },
            {"id": "d", "type": "custom", "custom": {"name": "f", "input": SECRET}},
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": f'{{"out": "{SECRET}"}}'},
    {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": SECRET}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": {SECRET: [SECRET]}}}
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [{"type": "text", "text": SECRET}],
            },
            {"type": "tool_result", "tool_use_id": "u", "content": SECRET},
        ],
    },
    {
        "role": "model",
        "parts": [{"functionCall": {"name": "f", "args": {"id": SECRET, "type": SECRET}}}],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "f", "response": {"name": SECRET, "data": SECRET}}}
        ],
    },
    {
        "role": "model",
        "parts": [
            {"executableCode": {"language": "PYTHON", "code": SECRET}},
            {"text": SECRET, "thought": True},
        ],
    },
    {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": f'["\\u0068unter2", 1.50, "{SECRET}"]',
    },
    {"type": "function_call_output", "call_id": "c", "output": SECRET},
    {
        "type": "function_call_output",
        "call_id": "c",
        "output": [{"type": "input_text", "text": SECRET}],
    },
    {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": SECRET},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": SECRET}]},
    {
        "type": "message",
        "role": "assistant",
        "content": [
            {
                "type": "output_text",
                "text": SECRET,
                "annotations": [],
                "logprobs": [{"token": SECRET}],
            }
        ],
    },
    {
        "type": "web_search_call",
        "id": "w",
        "status": "completed",
        "action": {"type": "search", "query": SECRET, "queries": [SECRET]},
    },
    {
        "type": "mcp_call",
        "id": "m",
        "name": "f",
        "server_label": "s",
        "arguments": "{}",
        "output": SECRET,
        "error": {"message": SECRET},
    },
    {
        "type": "function_result",
        "call_id": "c",
        "name": "f",
        "result": {"deep": [{"name": SECRET}]},
    },
    {"type": "function_call", "id": "c", "name": "f", "arguments": {"token": SECRET}},
    {"role": "user", "content": [["nested", {"odd": SECRET}]]},
]


@pytest.mark.parametrize("message", TEXTS, ids=lambda one: str(one)[:60])
def test_every_text_is_rewritten(message):
    before = json.loads(json.dumps(message))
    made = redacted(message, hide)
    shown = dumps(made).decode()
    assert SECRET not in shown
    assert "u0068" not in shown
    assert message == before, "the caller's own message changed"
    assert redacted(made, hide) is made, "an unchanged message is the same object"


FIXED = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]},
    {
        "role": "user",
        "content": [{"type": "input_audio", "input_audio": {"data": SECRET, "format": "wav"}}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": SECRET},
            }
        ],
    },
    {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": SECRET}}]},
    {"role": "model", "parts": [{"text": "a", "thoughtSignature": SECRET}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": SECRET}]},
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": SECRET}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": SECRET, "name": SECRET, "input": {}}],
    },
    {
        "role": "assistant",
        "tool_calls": [
            {"id": SECRET, "type": "function", "function": {"name": SECRET, "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": SECRET, "name": SECRET, "content": "a"},
    {"type": "reasoning", "id": SECRET, "summary": [], "encrypted_content": SECRET},
    {"type": "image_generation_call", "id": "i", "status": "completed", "result": SECRET},
    {"type": "function_call_output", "call_id": SECRET, "output": "a"},
    {"role": "user", "content": [{"type": "file", "file": {"file_id": SECRET}}]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": SECRET},
                    }
                ],
            }
        ],
    },
    {
        "type": "function_result",
        "call_id": "c",
        "result": [{"type": "image", "mime_type": "image/png", "data": SECRET}],
    },
    {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": {"type": "base64", "data": SECRET},
    },
    {"role": "user", "content": [{"toolUseId": SECRET, "file_id": SECRET, "id": SECRET}]},
]


@pytest.mark.parametrize("message", FIXED, ids=lambda one: str(one)[:60])
def test_what_is_no_text_is_not_touched(message):
    assert redacted(message, hide) is message


def test_a_signed_thinking_block_stays_whole_or_leaves():
    thinking = {"type": "thinking", "thinking": f"it is {SECRET}", "signature": "x"}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    plain = {"type": "thinking", "thinking": "it is fine", "signature": "y"}
    made = redacted({"role": "assistant", "content": [plain, thinking, call]}, hide)
    assert made["content"] == [plain, call]
    alone = redacted({"role": "assistant", "content": [thinking]}, hide)
    assert alone["content"] == [{"type": "text", "text": "[redacted]"}]
    unsigned = {"type": "thinking", "thinking": SECRET, "signature": ""}
    made = redacted({"role": "assistant", "content": [unsigned]}, hide)
    assert made["content"] == [{"type": "thinking", "thinking": "***", "signature": ""}]
    routed = {"type": "reasoning.text", "text": SECRET, "signature": "x"}
    made = redacted({"role": "assistant", "content": "a", "reasoning_details": [routed]}, hide)
    assert made["reasoning_details"] == []


def test_arguments_keep_everything_but_the_strings():
    given = '{ "a" : 1.50, "b":"\\u00e9 hunter2", "c":[1e3, "\\u00e9"] }'
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": given}
    made = redacted(call, hide)["arguments"]
    assert made == '{ "a" : 1.50, "b":"\\u00e9 ***", "c":[1e3, "\\u00e9"] }'
    broken = {**call, "arguments": f'{{"a": "{SECRET}'}
    assert redacted(broken, hide)["arguments"] == '{"a": "***'


def test_the_tokens_of_a_changed_text_leave():
    part = {
        "type": "output_text",
        "text": SECRET,
        "logprobs": [{"token": "hun"}, {"token": "ter2"}],
    }
    message = {"type": "message", "role": "assistant", "content": [part]}
    assert redacted(message, hide)["content"][0]["logprobs"] == []
    same = {**message, "content": [{**part, "text": "fine"}]}
    assert redacted(same, hide) is same


def test_only_base64_is_no_text_in_arguments():
    assert redacted_data({"url": PNG}, hide) == {"url": PNG}
    assert redacted_data({"type": "base64", "data": f"a {SECRET}"}, hide)["data"] == "a ***"
    assert redacted_data({"mime_type": "text/plain", "data": SECRET}, hide)["data"] == "***"
    assert redacted_data({"data": SECRET}, hide)["data"] == "***"


def test_keys_that_become_equal_lose_no_value():
    assert redacted_data({"a1": 1, "a2": 2, "b": 3}, lambda text: text.rstrip("0123456789")) == {
        "a": 1,
        "a_": 2,
        "b": 3,
    }


def test_the_name_of_a_person_stays_one_that_providers_take():
    said = {"role": "user", "name": "Maria", "content": "hi"}
    assert redacted(said, lambda text: text.replace("Maria", "<a name>"))["name"] == "a_name"
    assert redacted(said, lambda _text: "<>")["name"] == "redacted"


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.data())
def test_the_harshest_hook_leaves_a_valid_list(dialect, data):
    """Whatever a list holds: with every text replaced it breaks no rule that it did not break."""
    history = data.draw(histories(dialect)).messages
    made = [redacted(message, lambda _text: "x") for message in history]
    broken = {one.rule for one in validate(history, dialect=dialect)}
    assert {one.rule for one in validate(made, dialect=dialect)} <= broken
    assert [redacted(one, lambda _text: "x") for one in made] == made


class Text(str):
    """A subclass, as an enumeration's values and numpy's texts are."""

    __slots__ = ()


def hidden(text):
    return text.replace("sk-1", "[key]")


@pytest.mark.parametrize(
    "content",
    [
        'data: {"img":"data:image/png;base64,AAA"} sk-1',
        "data:text/plain;base64, sk-1",
        Text("sk-1"),
        [{"type": "text", "text": Text("sk-1"), "metadata": {"sk-1": 1}}],
        [{"type": "tool_use", "id": "t", "name": "f", "input": {"type": "file", "data": "a sk-1"}}],
        [{"type": "tool_use", "id": "t", "name": "f", "input": {"type": "text", "status": "sk-1"}}],
    ],
)
def test_no_disguise_keeps_a_secret(content):
    made = redacted({"role": "assistant", "content": content}, hidden)
    assert "sk-1" not in json.dumps(made)


def test_environments_are_the_callers_own():
    item = {"type": "shell_call", "call_id": "c", "environment": {"vars": {"A_id": "sk-1"}}}
    assert redacted(item, hidden)["environment"] == {"vars": {"A_id": "[key]"}}


def test_names_of_arguments_stay_apart():
    said = '{"sk-1": 1, "[key]": 2}'
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": said}
    assert json.loads(redacted(item, hidden)["arguments"]) == {"[key]": 1, "[key]_": 2}


def test_data_urls_stay():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,sk-1AAAA"}}
    assert redacted({"role": "user", "content": [image]}, hidden)["content"] == [image]
