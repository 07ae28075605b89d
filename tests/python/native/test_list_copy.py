"""The last list of a caller, held to tell which messages of the next one are the same."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from warmset._core import ListCopy, PlainHasher

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from([0.0, -0.0, 1.0])
    | st.text(max_size=4)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)
MESSAGES = st.dictionaries(st.sampled_from(["role", "content", "n"]), VALUES, max_size=3)


def text_of(value: object) -> str:
    """Return a value as JSON, which tells all that differ."""
    return json.dumps(value)


def digests(count: int) -> list[bytes]:
    return [b"%016d" % at for at in range(count)]


def take(held: ListCopy, listed: list[Any], hashes: list[bytes]) -> list[int]:
    """Hold a list; return the positions of what was new in it."""
    _known, fresh, draft = held.known(listed)
    held.take(draft, hashes)
    return fresh


def known(held: ListCopy, listed: list[Any]) -> tuple[list[bytes | None], list[int]]:
    return held.known(listed)[:2]


@given(st.lists(MESSAGES, max_size=5), st.lists(MESSAGES, max_size=5), st.data())
def test_a_message_is_known_where_its_json_is_the_same(one, other, data):
    if one and other and data.draw(st.booleans()):  # mostly the same, as lists are
        other = copy.deepcopy(one[: data.draw(st.integers(0, len(one)))]) + other[:1]
    held = ListCopy()
    take(held, one, digests(len(one)))
    found, fresh = known(held, other)
    same = [
        at < len(one) and text_of(one[at]) == text_of(message) for at, message in enumerate(other)
    ]
    assert [digest is not None for digest in found] == same
    assert fresh == [at for at, is_same in enumerate(same) if not is_same]
    assert [digest for digest in found if digest] == [
        digest for digest, is_same in zip(digests(len(other)), same, strict=True) if is_same
    ]


def test_a_message_that_was_changed_in_place_is_read_again():
    held = ListCopy()
    listed: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "a"}]} for _ in range(3)
    ]
    assert known(held, listed) == ([None] * 3, [0, 1, 2])
    take(held, listed, [b"1", b"2", b"3"])
    assert known(held, listed) == ([b"1", b"2", b"3"], [])
    listed[1] = {"content": listed[1]["content"], "role": "user"}  # the same with other bytes
    listed[2]["content"][0]["text"] = "b"
    assert known(held, listed) == ([b"1", None, None], [1, 2])
    assert take(held, listed, [b"1", b"4", b"5"]) == [1, 2]
    assert known(held, listed) == ([b"1", b"4", b"5"], [])
    assert known(held, [*listed, listed[0]]) == ([b"1", b"4", b"5", None], [3])
    listed[2]["content"].append({"type": "text", "text": "c"})
    listed[1]["more"] = None
    assert known(held, listed) == ([b"1", None, None], [1, 2])


def test_a_message_that_is_changed_before_its_list_is_held_is_read_again():
    held, listed = ListCopy(), [{"n": 1}, {"n": 2}]
    _known, _fresh, draft = held.known(listed)
    listed[0]["n"] = 3  # by another thread, behind the hash
    held.take(draft, [b"1", b"2"])
    assert known(held, listed) == ([None, b"2"], [0])


def test_a_draft_is_taken_once_and_a_shorter_list_leaves_nothing_behind_it():
    held, listed = ListCopy(), [{"n": 1}, {"n": 2}]
    _known, _fresh, draft = held.known(listed)
    held.take(draft, [b"1", b"2"])
    held.take(draft, [b"3", b"4"])
    assert known(held, listed) == ([b"1", b"2"], [])
    take(held, listed[:1], [b"1"])
    assert known(held, listed) == ([b"1", None], [1])


def test_a_list_that_is_taken_behind_a_shorter_one_leaves_no_gap():
    held, listed = ListCopy(), [{"n": at} for at in range(4)]
    take(held, listed, digests(4))
    _known, fresh, draft = held.known([*listed, {"n": 4}])
    assert fresh == [4]
    take(held, listed[:1], digests(1))  # by another thread
    held.take(draft, digests(5))
    assert known(held, [*listed, {"n": 4}])[1] == [1, 2, 3, 4]


def test_so_many_messages_are_held():
    held, listed = ListCopy(), [{"n": at % 7} for at in range(200_001)]
    take(held, listed, digests(200_001))
    assert known(held, listed)[1] == [200_000]


class Text(str):
    __slots__ = ()


class Mapped(dict):  # type: ignore[type-arg]
    __slots__ = ()

    def items(self) -> Any:
        return {"b": 1}.items()


class Fetched(dict):  # type: ignore[type-arg]
    """Shows what it has, like messages that a memory returns."""


def nested(depth: int) -> dict[str, Any]:
    message: dict[str, Any] = {}
    for _level in range(depth - 1):
        message = {"a": message}
    return message


@pytest.mark.parametrize(
    "message",
    [{"a": Text("a")}, Mapped(a=1), {Text("a"): 1}, {"a": (1,)}, {1: "a"}, nested(65), object()],
)
def test_what_is_no_plain_json_is_read_each_time(message):
    held = ListCopy()
    take(held, [message], digests(1))
    assert known(held, [message]) == ([None], [0])


def test_levels_up_to_the_most_are_held():
    held = ListCopy()
    take(held, [nested(64)], digests(1))
    assert known(held, [nested(64)]) == (digests(1), [])


def test_a_text_of_another_class_is_not_the_same():
    held = ListCopy()
    take(held, [{"a": "a", "b": ["c"]}], digests(1))
    for other in ({"a": Text("a"), "b": ["c"]}, {"a": "a", "b": ("c",)}, {Text("a"): "a", "b": []}):
        assert known(held, [other]) == ([None], [0])
    assert known(held, [Mapped(a="a", b=["c"])]) == ([None], [0])


def test_half_characters_are_compared_as_they_are():
    held = ListCopy()
    take(held, [{"a": "\ud83d"}], digests(1))
    assert known(held, [{"a": "\ud83d"}])[1] == []
    assert known(held, [{"a": "\ud83e"}])[1] == [0]


def test_of_a_fixed_list_a_message_is_known_by_being_the_same_object():
    listed: list[Any] = [{"role": "user", "content": str(at)} for at in range(4)]
    held = ListCopy()
    _known, fresh, draft = held.known(listed, fixed=True)
    assert fresh == [0, 1, 2, 3]
    held.take(draft, digests(4))
    listed[1] = copy.deepcopy(listed[1])
    listed[2], listed[3] = listed[3], listed[2]
    found, fresh, draft = held.known(listed, fixed=True)
    assert (found, fresh) == ([digests(1)[0], None, None, None], [1, 2, 3])
    held.take(draft, digests(4))
    assert known(held, listed) == (digests(4), [])  # whoever holds the same objects


def test_what_was_read_of_any_list_is_known_by_value_in_a_fixed_one():
    listed: list[Any] = [{"role": "user", "content": str(at)} for at in range(2)]
    held = ListCopy()
    take(held, listed, digests(2))
    assert held.known(copy.deepcopy(listed), fixed=True)[:2] == (digests(2), [])
    listed[1]["content"] = "other"
    assert held.known(listed, fixed=True)[:2] == ([digests(1)[0], None], [1])


def test_a_message_of_the_derived_class_that_is_named_is_held_for_what_it_shows():
    held, hasher = ListCopy(), PlainHasher(set(), set(), Fetched)
    fetched = [Fetched(a={"b": 1}), Fetched(a=1), Mapped(a=1)]
    assert held.known(fetched)[1] == [0, 1, 2]
    _known, fresh, draft = held.known(fetched, hasher=hasher)
    assert fresh == [2]
    held.take(draft, digests(3))
    assert held.known(fetched, hasher=hasher)[0] == [*digests(2), None]
    assert held.known([{"a": {"b": 1}}, Fetched(a=2)])[1] == [1]
    take(held, [{"a": 1}], digests(1))
    assert held.known([Fetched(a=1)], hasher=hasher)[:2] == (digests(1), [])
    [known], _fresh, _draft = held.known([Fetched(a=2)], hasher=hasher)
    assert known not in (None, *digests(1))
