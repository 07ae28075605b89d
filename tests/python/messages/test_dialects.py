"""Which dialect a list is in, which messages are malformed, and how to mend them."""

import pytest

from warmset.errors import InvalidInputError, InvalidMessageError, UnknownDialectError
from warmset.messages import Facts, detect, facts, known_dialect, resolve, text_message

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


@pytest.mark.parametrize(
    ("message", "dialect"),
    [
        (USER, None),
        (said({"type": "text", "text": "hi"}), None),
        ({"role": "assistant", "content": "hi", "whatever": 1}, None),
        ({"role": "system", "content": "be kind"}, None),
        ({"role": "developer", "content": "be kind"}, None),
        (said({"type": "refusal", "refusal": "no"}, role="assistant"), None),
        (CALLS, "openai"),
        (TOOL, "openai"),
        (said({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}), "openai"),
        ({"role": "assistant", "content": None}, "openai"),
        ({"role": "user", "content": "hi", "name": "ann"}, "openai"),
        (USES, "anthropic"),
        (said(RESULT), "anthropic"),
        (said(PNG), "anthropic"),
        (said({"type": "thinking", "thinking": "hm", "signature": "s"}), "anthropic"),
    ],
)
def test_a_list_is_told_by_its_first_telling_message(message, dialect):
    assert detect([USER, message]) == dialect
    assert resolve([USER, message]) == (dialect or "openai")


def test_an_empty_list_tells_nothing():
    assert detect([]) is None
    assert resolve([]) == "openai"


def test_a_name_or_what_is_known_decides_what_the_list_does_not():
    assert resolve([USER], "anthropic") == "anthropic"
    assert resolve([USER], None, "anthropic") == "anthropic"
    assert resolve([USER], "anthropic", "anthropic") == "anthropic"


@pytest.mark.parametrize("name", ["robot", "open ai", "", None, 3])
def test_unknown_names_are_refused(name):
    with pytest.raises(UnknownDialectError, match="supported are openai, responses, anthropic, "):
        known_dialect(name)


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("OpenAI", "openai"),
        ("openai_chat", "openai"),
        ("openai-responses", "responses"),
        ("Responses", "responses"),
        ("claude", "anthropic"),
        ("gemini", "gemini"),
    ],
)
def test_names_are_known_as_people_write_them(name, dialect):
    assert known_dialect(name) == dialect


def test_a_conversation_stays_in_its_dialect():
    with pytest.raises(InvalidInputError, match="is in openai, not in anthropic"):
        resolve([USER], "anthropic", "openai")
    with pytest.raises(InvalidMessageError, match=r"message 1: .*'image' is of anthropic"):
        resolve([USER, said(PNG)], None, "openai")
    with pytest.raises(InvalidMessageError, match=r"message 0: .*'tool_calls' is of openai"):
        resolve([CALLS], None, "anthropic")
    with pytest.raises(InvalidMessageError, match=r"message 0: Anthropic has no role 'developer'"):
        resolve([{"role": "developer", "content": "x"}], None, "anthropic")
    assert resolve([{"role": "system", "content": "x"}], None, "anthropic") == "anthropic"


MALFORMED = [
    ("openai", {"content": "hi"}, "there is no role"),
    ("openai", {"role": 1, "content": "hi"}, "the role is a int"),
    ("openai", {"role": "robot", "content": "hi"}, "role 'robot' is unknown; use one of system"),
    ("openai", {"role": "user"}, "a user message needs content"),
    ("openai", {"role": "tool", "tool_call_id": "c", "content": None}, "needs content"),
    ("openai", {"role": "user", "content": 3}, "content is a int"),
    ("openai", {"role": "user", "content": {"type": "text"}}, "content is a dict"),
    ("openai", said("hi"), r"content\[0\] must be a part"),
    ("openai", said({"type": ["text"]}), r"content\[0\] must be a part"),
    ("openai", said({"type": "text"}), r"content\[0\] needs text"),
    ("openai", said(RESULT), "block of Anthropic's"),
    ("openai", {"role": "tool", "content": "x"}, "needs tool_call_id"),
    ("openai", {"role": "function", "content": "x"}, "needs name"),
    ("openai", {**CALLS, "tool_calls": {}}, "tool_calls is a dict; it must be a list"),
    ("openai", {**CALLS, "tool_calls": [{"type": "function"}]}, r"tool_calls\[0\] .* an id"),
    ("openai", {**CALLS, "tool_calls": [{"id": "c"}]}, r"tool_calls\[0\] must name"),
    ("openai", {**USER, "tool_calls": [CALL]}, "user message cannot have tool_calls"),
    ("openai", {**USER, "function_call": {}}, "user message cannot have function_call"),
    ("openai", {**CALLS, "function_call": {}}, "function_call must name"),
    ("openai", said({"type": "input_text", "text": "a"}), "part of Responses"),
    ("anthropic", {"role": "developer", "content": "x"}, "pass it as the system parameter"),
    ("anthropic", {"role": "tool", "content": "x"}, "role 'tool' is unknown; use one of user"),
    ("anthropic", {**USES, "tool_calls": [CALL]}, "tool_calls is OpenAI's"),
    ("anthropic", {"role": "user"}, "content is missing"),
    ("anthropic", {"role": "user", "content": 3}, "content is a int"),
    ("anthropic", said({"text": "hi"}), r"content\[0\] must be a block with a type"),
    ("anthropic", said({"type": "text", "text": None}), r"content\[0\] needs text"),
    ("anthropic", said(USE), "only the assistant"),
    ("anthropic", said({"type": "tool_use", "id": "t"}, role="assistant"), "needs id and name"),
    ("anthropic", said(RESULT, role="assistant"), "results go into a user message"),
    ("anthropic", said({"type": "tool_result"}), "needs tool_use_id"),
    ("anthropic", said({**RESULT, "content": 3}), "has content of type int"),
    ("anthropic", said({**RESULT, "content": ["x"]}), r"no block with a type at content\[0\]"),
    ("anthropic", said({**RESULT, "content": [{"type": "text"}]}), "needs text"),
]


@pytest.mark.parametrize(("dialect", "message", "why"), MALFORMED)
def test_malformed_messages_are_refused_with_their_place(dialect, message, why):
    with pytest.raises(InvalidMessageError, match=f"^message 1: .*{why}") as caught:
        resolve([USER, message], dialect)
    assert caught.value.index == 1


def test_unknown_fields_and_blocks_pass():
    strange = {**said({"type": "hologram", "x": 1}, {"type": "text", "text": "a"}), "weight": 2}
    for dialect in ("openai", "anthropic"):
        assert resolve([strange], dialect) == dialect
        assert facts(strange, dialect) == Facts("user", "[hologram]\na", request=True)


def test_a_text_message_is_well_formed_or_refused():
    assert text_message("openai", "system", "be kind") == {"role": "system", "content": "be kind"}
    assert text_message("anthropic", "user", "hi") == USER
    for dialect, role, text in [
        ("anthropic", "developer", "x"),
        ("openai", "tool", "x"),
        ("openai", "robot", "x"),
        ("openai", "user", " \n"),
    ]:
        with pytest.raises(InvalidInputError):
            text_message(dialect, role, text)


@pytest.mark.parametrize("kind", ["input_text", "output_text", "input_image", "input_file"])
def test_a_message_without_a_type_is_told_by_a_part_of_responses(kind):
    message = {"role": "user", "content": [{"type": "refusal", "refusal": "no"}, {"type": kind}]}
    assert detect([message]) == "responses"
    assert detect([{**message, "content": message["content"][:1]}]) != "responses"
