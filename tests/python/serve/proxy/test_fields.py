"""One field of a JSON text changes, and no other byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from warmset.errors import InvalidInputError
from warmset.serve.proxy.fields import Fields

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
SPACE = st.text(" \t\n\r", max_size=3)


@st.composite
def texts(draw):
    """Return an object, and it as a text with white space wherever it may be."""
    made = draw(st.dictionaries(st.text(), VALUES, max_size=5))
    ascii_only = draw(st.booleans())
    parts = []
    for pair in made.items():
        name, value = (json.dumps(one, ensure_ascii=ascii_only) for one in pair)
        space = [draw(SPACE) for _ in range(4)]
        parts.append(f"{space[0]}{name}{space[1]}:{space[2]}{value}{space[3]}")
    inner = ",".join(parts) or draw(SPACE)
    return made, f"{draw(SPACE)}{{{inner}}}{draw(SPACE)}"


@given(texts())
def test_an_object_is_read_and_written_as_it_was(found):
    made, text = found
    fields = Fields(text.encode("utf-8", "surrogatepass") if text.isascii() else text.encode())
    assert fields.values == made
    assert fields.written({}) == text.encode()


@given(texts(), st.text(), VALUES, st.data())
def test_a_field_changes_alone(found, fresh, value, data):
    made, text = found
    name = data.draw(st.sampled_from([*made, fresh]))
    written = Fields(text.encode()).written({name: value})
    assert json.loads(written) == {**made, name: value}
    if name in made:  # what stands before and behind it is the same
        before, behind = _around(text, list(made).index(name))
        assert written.startswith(before.encode()), written
        assert written.endswith(behind.encode()), written


def _around(text, number):
    """Return what stands before the value of the n-th field, and behind it, found by hand."""
    decoder = json.JSONDecoder()
    at = text.index("{") + 1
    for place in range(number + 1):
        at = text.index('"', at)
        _name, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        at += len(text[at:]) - len(text[at:].lstrip(" \t\n\r"))
        start = at
        _value, at = decoder.raw_decode(text, at)
        if place == number:
            return text[:start], text[at:]
    raise AssertionError


def test_two_fields_and_a_new_one_change_together():
    fields = Fields(b'{ "a":1 , "b" : [2], "c":3.10 }')
    assert fields.written({"c": 4, "a": {"x": "\u00e4"}, "d": None}) == (
        '{ "a":{"x":"\u00e4"} , "b" : [2], "c":4 ,"d":null}'.encode()
    )
    assert Fields(b"{}").written({"a": 1, "b": 2}) == b'{"a":1,"b":2}'


def test_half_a_character_is_escaped():
    assert Fields(b'{"a":1}').written({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
    assert Fields(b'{"a":"\\ud83d"}').values == {"a": "\ud83d"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"[]",
        b"1",
        b"{",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,',
        b'{"a":1,}',
        b'{"a" 1}',
        b"{1:2}",
        b'{"a":1} {}',
        b'{"a":1,"a":2}',
        b'{"a":1 "b":2}',
        b'{"a":\xff}',
        b'{"a":yes}',
        b'{"a":"' + b"\n" + b'"}',
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_object_is_refused_without_its_text(text):
    with pytest.raises(InvalidInputError, match="expected a JSON object") as raised:
        Fields(text)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
