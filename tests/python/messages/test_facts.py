"""What a message says, calls, answers and shows, in each dialect."""

import pytest

from warmset.messages import Facts, facts, resolve, text_of

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a":1}'}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOOL = {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
USE = {"type": "tool_use", "id": "t1", "name": "get", "input": {"a": 1}}
USES = {"role": "assistant", "content": [USE]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "sunny"}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


def said(*parts, role="user"):
    return {"role": role, "content": list(parts)}


OPENAI_FACTS = [
    (USER, Facts("user", "hi", request=True)),
    ({**USER, "name": "ann"}, Facts("user", "hi", speaker="ann", request=True)),
    ({"role": "developer", "content": "be kind"}, Facts("developer", "be kind")),
    (CALLS, Facts("assistant", 'get({"a":1})', ("c1",))),
    (
        {**CALLS, "content": "I look.", "refusal": "no", "reasoning_content": "hm"},
        Facts("assistant", 'I look.\nno\nget({"a":1})', ("c1",)),
    ),
    ({**TOOL, "name": "get"}, Facts("tool", "sunny", (), ("c1",))),
    (
        said(
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": "https://a.b/c/plan.png?w=1#x"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
            {"type": "image_url", "image_url": {"url": "https://a.b"}, "caption": " a plan "},
            {"type": "image_url", "image_url": {"url": ""}, "caption": " ", "title": "map"},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "…"}},
            {"type": "input_audio", "input_audio": {"data": "…"}},
        ),
        Facts(
            "user",
            "what is this?\n[image: plan.png]\n[image]\n[image: a plan]\n[image: map]\n"
            "[file: a.pdf]\n[audio]",
            images=4,
            request=True,
        ),
    ),
    (
        said({"type": "thinking", "text": "hm"}, {"type": "refusal", "refusal": "no"}),
        Facts("user", "no", request=True),
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
        Facts("assistant", "sh(ls)", ("c2",)),
    ),
    (
        {"role": "assistant", "function_call": {"name": "get", "arguments": "{}"}},
        Facts("assistant", "get({})", ("function_call:get",)),
    ),
    (
        {"role": "function", "name": "get", "content": "sunny"},
        Facts("function", "sunny", (), ("function_call:get",)),
    ),
]
ANTHROPIC_FACTS = [
    (USER, Facts("user", "hi", request=True)),
    ({"role": "assistant", "content": "hi"}, Facts("assistant", "hi")),
    (
        said(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "…"},
            {"type": "text", "text": "I look."},
            USE,
            {**USE, "id": "t2", "input": {"b": "é"}},
            role="assistant",
        ),
        Facts("assistant", 'I look.\nget({"a":1})\nget({"b":"é"})', ("t1", "t2"), thinks=True),
    ),
    (said(RESULT), Facts("user", "sunny", (), ("t1",))),
    (
        said(
            {**RESULT, "content": [PNG, {"type": "text", "text": "a"}]}, {**RESULT, "content": []}
        ),
        Facts("user", "[image]\na", (), ("t1", "t1"), images=1),
    ),
    (
        said(RESULT, {"type": "text", "text": "and now?"}),
        Facts("user", "sunny\nand now?", (), ("t1",), request=True),
    ),
    (
        said(
            {"type": "image", "source": {"type": "url", "url": "https://a.b/plan.png"}},
            {"type": "document", "title": "Plan", "source": {"type": "base64", "data": "…"}},
            {"type": "document", "source": {"type": "text", "data": "all of it"}},
        ),
        Facts("user", "[image: plan.png]\n[document: Plan]\nall of it", images=1, request=True),
    ),
    (
        said(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [{"type": "web_search_result", "title": "X", "encrypted_content": "…"}],
            },
            role="assistant",
        ),
        Facts("assistant", 'web_search({"q":"x"})\n[web_search_result: X]'),
    ),
]


@pytest.mark.parametrize(
    ("dialect", "message", "read"),
    [("openai", *row) for row in OPENAI_FACTS] + [("anthropic", *row) for row in ANTHROPIC_FACTS],
)
def test_facts(dialect, message, read):
    assert resolve([message], dialect) == dialect
    assert facts(message, dialect) == read
    assert text_of(message, dialect) == read.text


def test_only_instructions_are_system():
    roles = ("system", "developer", "user", "assistant", "tool")
    assert [Facts(role, "").is_system for role in roles] == [True, True, False, False, False]


def test_text_is_valid_unicode_even_where_the_message_is_not():
    assert text_of({"role": "user", "content": "a\ud800b \ud83d\ude00 \x00"}, "openai") == (
        "a\ufffdb \U0001f600 \x00"
    )
