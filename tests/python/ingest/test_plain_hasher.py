"""Messages that are hashed without being read are stored as they are, and hash as those do."""

from __future__ import annotations

import json
from typing import Any

import pytest
import real_shapes
from hypothesis import given, strategies as st

from warmset import Memory
from warmset._core import ListCopy, content_hash
from warmset.engine.redaction import Redactor
from warmset.ingest.given_list import PLAIN
from warmset.messages import accept, dumps, without_client_only
from warmset.messages.client_only import TABLE

REDACTOR = Redactor(None, timeout=1.0, private=True)

TAGS = ("<private>", "< PRIVATE x>", "</private>", "<\x1cprivate>", "<p>", "<b>", "\\u003cprivate>")
TEXTS = st.text(max_size=6) | st.sampled_from(['"', "\\", "\x7f", "\x00\x1f", "\ud800", *TAGS])
FIELDS = sorted(
    {row.field for row in TABLE}
    | {row.place for row in TABLE}
    | {"role", "content", "parts", "model", "type", "text", "arguments", "functionCall", "args"}
)
KINDS = sorted({kind for row in TABLE for kind in row.kinds} | {"message", "output_text", "text"})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(st.sampled_from(FIELDS) | TEXTS, inner, max_size=3)
    kinds = st.sampled_from(KINDS).map(lambda kind: {"type": kind})
    return st.tuples(st.just({}) | kinds, named).map(lambda pair: pair[0] | pair[1])


VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | objects(inner), max_leaves=8
)
ROLES = st.sampled_from(["user", "assistant", "tool", "model"])
MESSAGES = st.tuples(st.just({}) | ROLES.map(lambda role: {"role": role}), objects(VALUES)).map(
    lambda pair: pair[0] | pair[1]
)


def stored(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as it is stored."""
    return REDACTOR.messages([without_client_only(accept([message])[0])])[0]


@given(MESSAGES)
def test_what_is_not_read_hashes_as_it_is_stored(message):
    [found] = PLAIN.hashes([message])
    if found is not None:
        assert stored(message) == message
        assert found == content_hash(dumps(stored(message)))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": 'Is 3 < 4, "or" \\ not?\n\t\r\b\f\x01\x7fé😀 <b>'},
        {"role": "user", "content": [{"type": "text", "text": "a"}], "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "n": [1, 2.5, True]}]},
        {"role": "tool", "tool_call_id": "a", "content": "", "more": {}, "none": [], "x": -(2**63)},
        {"role": "user", "parts": [{"text": "a"}]},
        {"type": "function_call", "call_id": "a", "arguments": "{}", "name": "f", "ok": False},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "annotations": []}],
        },
        {"n": 1e22, "m": -0.0, "o": 5e-324},
        {},
    ],
)
def test_ordinary_messages_are_not_read(message):
    assert PLAIN.hashes([message]) == [content_hash(dumps(message))]
    assert stored(message) is message


def test_nearly_all_messages_of_requests_are_not_read():
    lists = [shape.messages for shape in real_shapes.load() if shape.verdict == "accepted"]
    listed = [message for one in lists for message in one if isinstance(message, dict)]
    read = [found is None for found in PLAIN.hashes(listed)]
    assert len(read) > 100
    assert sum(read) < 0.1 * len(read)


class Text(str):
    __slots__ = ()


class Shown(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        return {"role": "user", "content": "another"}.items()


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels > 1 else {}


@pytest.mark.parametrize(
    "message",
    [
        {"content": Text("a")},
        {Text("content"): "a"},
        {"content": ("a",)},
        {1: "a"},
        {"n": 2**63},
        {"n": float("nan")},
        {"n": float("inf")},
        {"content": "\ud800"},
        Shown(),
        nested(65),
        object(),
        "a text",
        {"role": "assistant", "refusal": None},
        {"role": "assistant", "tool_calls": []},
        {"role": "assistant", "type": "", "annotations": []},
        {"type": "reasoning", "content": None},
        {"role": "assistant", "content": [{"type": "text", "citations": None}]},
        {"role": "assistant", "type": 1, "annotations": []},
        {"role": "assistant", "tool_calls": [{"function": {"parsed_arguments": 1}}]},
        {"role": "model", "parts": [{"text": "a", "thought": None}]},
        {"type": "computer_call", "action": {"type": "click", "x": None}},
        {"type": "message", "role": "assistant", "content": [], "model": "m"},
        {"role": "user", "content": "see < /Private>"},
        {"role": "user", "content": {"<private>": 1}},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"arguments": '{"a":"\\u003cprivate>"}'}}],
        },
    ],
)
def test_what_may_change_is_read(message):
    assert PLAIN.hashes([message]) == [None]


def test_levels_up_to_the_most_are_hashed():
    message = nested(64)
    assert PLAIN.hashes([message]) == [content_hash(dumps(message))]


def test_what_needs_no_reading_is_known_and_held():
    held, listed = ListCopy(), [{"role": "user", "content": "a"}, {"role": "user", "content": "<p"}]
    first = content_hash(dumps(listed[0]))
    known, fresh, draft = held.known(listed, hasher=PLAIN)
    assert (known, fresh) == ([first, None], [1])
    held.take(draft, [first, b"2"])
    assert held.known(json.loads(json.dumps(listed)))[:2] == ([first, b"2"], [])


def test_with_a_hook_every_message_passes_through_it():
    with Memory.open(
        None, embedder="lexical", redact=lambda text: text.replace("7", "#")
    ) as memory:
        log = memory.conversation("a")
        log.sync([{"role": "user", "content": "number 7"}])
        assert log.messages() == [{"role": "user", "content": "number #"}]
