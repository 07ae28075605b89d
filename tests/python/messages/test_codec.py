"""Messages as bytes, and what callers may hand in."""

import enum
import json
import types

import pytest

from warmset.errors import InvalidMessageError, NotFiniteError
from warmset.messages import MAX_DEPTH, accept, dumps, loads


def user(content):
    return {"role": "user", "content": content}


def test_bytes_are_compact_utf8_in_key_order():
    message = {"role": "user", "content": "né", "a": [1, 2.5, None, True]}
    assert dumps(message) == '{"role":"user","content":"né","a":[1,2.5,null,true]}'.encode()
    assert list(loads(dumps(message))) == ["role", "content", "a"]


@pytest.mark.parametrize("text", ["\x00", "\U0001f600", "\ud800", "\udc00\ud800", "\u2028", '"\\/'])
def test_every_string_survives(text):
    assert loads(dumps(user(text))) == user(text)


def test_a_pair_of_lone_surrogates_does_not_become_a_character():
    pair = user("\ud83d" + "\ude00")
    assert loads(dumps(pair)) == pair


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_message_holds_a_number_that_is_not_finite(number):
    with pytest.raises(NotFiniteError, match=r"message 7: content\[1\]\.x is"):
        dumps(user(["a", {"x": number}]), index=7)


@pytest.mark.parametrize("data", [b'{"x":NaN}', b'{"x":-Infinity}', b'{"x":1e999}'])
def test_no_bytes_hold_one_either(data):
    with pytest.raises(NotFiniteError):
        loads(data)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([{"source": {"data": b"png"}}], r"content\[0\]\.source\.data is of type bytes"),
        ([{"when": {1, 2}}], r"content\[0\]\.when is of type set"),
        ({1: "one"}, r"content\[1\] is a key that is no string"),
        ({None: "none"}, r"content\[None\] is a key that is no string"),
        ({"two\nlines": object()}, r"content\['two\\nlines'\] is of type object"),
        (dict, "content is of type type"),
    ],
)
def test_what_json_would_change_or_lose_is_refused_with_its_place(content, why):
    with pytest.raises(InvalidMessageError, match=f"^message 4: {why}"):
        dumps(user(content), index=4)


def nested(levels):
    value = "core"
    for _ in range(levels):
        value = [value]
    return value


def test_the_deepest_message_that_is_allowed_survives():
    message = user(nested(MAX_DEPTH - 1))
    assert loads(dumps(message)) == message


@pytest.mark.parametrize("levels", [MAX_DEPTH, 500, 100_000])
def test_deeper_ones_are_refused(levels):
    with pytest.raises(InvalidMessageError, match="nested deeper than 128"):
        dumps(user(nested(levels)))


def test_a_message_that_holds_itself_is_refused():
    message = user([])
    message["content"].append(message)
    with pytest.raises(InvalidMessageError, match="nested deeper"):
        dumps(message)


def test_deep_bytes_are_refused():
    with pytest.raises(InvalidMessageError, match="not JSON"):
        loads(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@pytest.mark.parametrize("data", [b"", b"{", b'{"a":1}x', b'{"a":"\xff"}', b"{'a':1}"])
def test_bytes_that_are_not_json_are_refused(data):
    with pytest.raises(InvalidMessageError, match="message 2: the bytes are not JSON"):
        loads(data, index=2)


@pytest.mark.parametrize("data", [b"[]", b"1", b'"text"', b"null"])
def test_bytes_that_are_no_object_are_refused(data):
    with pytest.raises(InvalidMessageError, match="expected a JSON object"):
        loads(data)


def test_an_integer_that_python_will_not_write_is_refused():
    with pytest.raises(InvalidMessageError, match=r"message 1: .*write it as a string"):
        dumps(user(10**5000), index=1)


@pytest.mark.parametrize("message", ["text", 1, None, ["role"], object, object()])
def test_what_is_no_mapping_is_no_message(message):
    with pytest.raises(InvalidMessageError, match="message 1: "):
        accept([user("hi"), message])


@pytest.mark.parametrize("messages", [user("hi"), "hi", b"hi"])
def test_one_message_is_no_list(messages):
    with pytest.raises(InvalidMessageError, match="wrap it in a list"):
        accept(messages)


class Dumped:
    """Like a pydantic model: only what was set is dumped."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, *, exclude_unset=False):
        return self.fields if exclude_unset else self.fields | {"unset": None}


def test_sdk_objects_are_dumped_without_unset_fields_at_any_depth():
    block = Dumped(type="text", text="hi")
    assert accept([Dumped(role="user", content=[block])]) == [
        user([{"type": "text", "text": "hi"}])
    ]
    message = user([block])
    assert json.loads(dumps(message)) == user([{"type": "text", "text": "hi"}])
    assert message == user([block])


def test_a_class_is_no_sdk_object():
    with pytest.raises(InvalidMessageError, match="content is of type type"):
        dumps(user(Dumped))


def test_an_object_that_dumps_itself_for_ever_is_refused():
    class Mirror:
        def model_dump(self, *, exclude_unset):
            return self if exclude_unset else None

    with pytest.raises(InvalidMessageError, match="nested deeper"):
        accept([Mirror()])


def test_tuples_and_mappings_become_lists_and_dicts_and_the_input_stays():
    part = types.MappingProxyType({"type": "text", "text": "hi"})
    message = user((part,))
    (taken,) = accept([message])
    assert taken == user([{"type": "text", "text": "hi"}])
    assert type(taken["content"][0]) is dict
    assert message["content"] == (part,)


def test_enumerations_are_written_as_their_values():
    role = enum.StrEnum("Role", ["user"]).user
    assert dumps({"role": role, "content": "hi"}) == dumps(user("hi"))


def test_messages_of_the_openai_sdk():
    chat = pytest.importorskip("openai.types.chat")
    message = chat.ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
            ],
        }
    )
    assert accept([message]) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "get", "arguments": "{}"}}
            ],
        }
    ]


def test_blocks_of_the_anthropic_sdk():
    sdk = pytest.importorskip("anthropic.types")
    block = sdk.ToolUseBlock.model_validate(
        {"type": "tool_use", "id": "t", "name": "get", "input": {"city": "Paris"}}
    )
    assert accept([{"role": "assistant", "content": [block]}]) == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "get", "input": {"city": "Paris"}}],
        }
    ]
