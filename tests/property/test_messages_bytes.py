"""`dumps` and `loads` against Python's own equality."""

import copy

import pytest
from hypothesis import given, strategies as st
from message_strategies import any_text, json_values

from warmset.errors import InvalidMessageError, NotFiniteError
from warmset.messages import accept, dumps, loads


def same(one, other):
    """Equal, with equal types and key order; True is not 1 and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


messages = st.dictionaries(any_text, json_values, max_size=4)


@given(messages)
def test_what_is_written_is_read_back(message):
    before = copy.deepcopy(message)
    assert same(loads(dumps(message)), message)
    assert same(message, before)


@given(messages)
def test_writing_what_was_read_gives_the_same_bytes(message):
    data = dumps(message)
    assert dumps(loads(data)) == data


@given(messages)
def test_plain_messages_are_accepted_as_the_same_objects(message):
    assert accept([message])[0] is message


def seeded(poison):
    """Any JSON value with one poison somewhere inside of it."""
    return st.recursive(
        st.just(poison),
        lambda inner: st.one_of(
            st.tuples(st.lists(json_values, max_size=2), inner).map(lambda p: [*p[0], p[1]]),
            st.tuples(any_text, inner).map(lambda p: {"beside": None, p[0]: p[1]}),
        ),
        max_leaves=4,
    )


@given(st.one_of(seeded(float("nan")), seeded(float("inf")), seeded(float("-inf"))))
def test_no_number_that_is_not_finite_gets_through(value):
    with pytest.raises(NotFiniteError, match=r"message 3: content.* is (nan|inf|-inf)"):
        dumps({"role": "user", "content": value}, index=3)


@given(st.one_of(seeded({1: "one"}), seeded({None: 0}), seeded({"a", "b"}), seeded(b"bytes")))
def test_nothing_that_json_would_change_gets_through(value):
    with pytest.raises(InvalidMessageError, match="message 3: content"):
        dumps({"role": "user", "content": value}, index=3)
