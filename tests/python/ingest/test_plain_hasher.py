"""Messages that are hashed without being read are stored as they are, and hash as those do."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
import real_shapes
from hypothesis import given, strategies as st

from warmset import Memory
from warmset._core import ListCopy, content_hash
from warmset.engine.redaction import Redactor
from warmset.errors import InvalidMessageError
from warmset.ingest.plain import PLAIN
from warmset.ingest.turn import Turn
from warmset.messages import accept, dumps, without_client_only
from warmset.messages.client_only import TABLE

REDACTOR = Redactor(None, timeout=1.0, private=True)

TAGS = (
    "<\\nprivate>",
    "<private>",
    "< PRIVATE x>",
    "</private>",
    "<\x1cprivate>",
    "<p>",
    "<b>",
    "\\u003cprivate>",
)
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
    assert PLAIN.payloads([message, message]) == [dumps(message)] * 2


@given(st.lists(MESSAGES, max_size=3))
def test_what_is_not_read_is_written_as_it_is_stored(listed):
    payloads = PLAIN.payloads(listed)
    if None in PLAIN.hashes(listed):
        assert payloads is None
    else:
        assert payloads == [dumps(stored(message)) for message in listed]


@pytest.mark.parametrize("batch", [list, tuple, iter, lambda given: given[0]])
def test_messages_are_appended_with_or_without_being_read(batch):
    one = {"role": "user", "content": "The harbour."}
    with Memory.open(None, embedder="lexical") as memory:
        chat = memory.conversation("c")
        chat.append(batch([one]))
        chat.append(batch([{"role": "assistant", "content": "Yes.", "parsed": {"a": 1}}]))
        chat.append(batch([{"role": "user", "content": "A <private>b</private>."}]))
        chat.append(batch([{"role": "assistant", "content": "Yes.", "refusal": None}]))
        texts = [dict(message) for message in chat.messages()]
        assert memory.stats()["redacted"]["messages"] == 1
    assert texts[0] == one
    assert texts[1] == texts[3] == {"role": "assistant", "content": "Yes."}
    assert "b" not in texts[2]["content"]


def test_nothing_is_appended_without_a_message():
    with Memory.open(None, embedder="lexical") as memory:
        assert memory.conversation("c").append([]) == []


def test_nearly_all_messages_of_requests_are_not_read():
    lists = [shape.messages for shape in real_shapes.load() if shape.verdict == "accepted"]
    listed = [message for one in lists for message in one if isinstance(message, dict)]
    read = [found is None for found in PLAIN.hashes(listed)]
    assert len(read) > 100
    assert sum(read) < 0.1 * len(read)


class Text(str):
    __slots__ = ()


class Named(dict):  # type: ignore[type-arg]
    """Is derived from a dict, as a message that a memory returns."""


class Loud(str):
    """A key that looks around when it is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it was compared")

    def __hash__(self) -> int:
        return hash("type")


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
        Named(role="user"),
        {Loud("type"): "a", "b": 1},
        {"a": {Loud("type"): "a", "b": 1}},
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
        *(
            {"role": "assistant", "arguments": f'{{"a":"<{escape}private>"}}'}
            for escape in ("\\n", "\\t", "\\/", "\\u0020", " \\r", "/\\f")
        ),
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


def test_a_message_that_a_memory_returned_is_hashed_as_what_it_is():
    message = {"role": "user", "content": "a"}
    turn = Turn(message)
    turn.id = 7
    assert PLAIN.hashes([turn]) == PLAIN.hashes([message]) == [content_hash(dumps(message))]
    with pytest.raises(AttributeError):
        turn.items = {"b": 1}.items  # it would show others than it has
    assert copy.copy(turn).id == pickle.loads(pickle.dumps(turn)).id == turn.id  # noqa: S301
    turn["content"] = "b"
    assert PLAIN.hashes([turn]) == [content_hash(dumps(turn))]


def test_edits_of_what_a_memory_returned_are_noticed():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("a")
        log.sync(
            [{"role": "user", "content": [{"type": "text", "text": f"{n}"}]} for n in range(4)]
        )
        kept = log.messages()
        assert [log.sync(kept).kept, log.sync(kept).kept] == [4, 4]
        kept[2]["content"][0]["text"] = "another"
        assert log.sync(kept).kept == 2
        kept[1] = dict(kept[1])
        assert log.sync(kept).kept == 4
        assert log.messages() == kept


def test_a_secret_behind_an_escape_is_counted_as_redacted():
    call = {"name": "f", "arguments": r'{"a":"<\nprivate>SECRET"}'}
    calls = [{"id": "a", "type": "function", "function": call}]
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("a")
        asked = {"role": "user", "content": "hi"}
        synced = log.sync([asked, {"role": "assistant", "content": "", "tool_calls": calls}])
        assert synced.redacted == 1
        assert "SECRET" not in json.dumps(log.messages())


def test_a_result_that_is_a_list_of_schemas_is_refused():
    with Memory.open(None, embedder="lexical") as memory:
        schema = {"type": ["string", "null"]}
        listed = [
            {"role": "user", "content": "What is it?"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [schema]},
        ]
        log = memory.conversation("a")
        with pytest.raises(InvalidMessageError, match=r"message 2: output\[0\]"):
            log.sync(listed)
