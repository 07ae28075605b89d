"""Queries of `Memory.items`: what narrows them, what comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from other_process import said

from warmset.errors import InvalidInputError
from warmset.items import NewItem

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def items(memory):
    made = memory.items
    made.put_many(
        [
            item("a", 0, "chunk", sections=["Item 7"], keys=["margin"], entities=["ACME"]),
            item("b", 1, "chunk", sections=["Item 7", "MD&A"], keys=["sales"]),
            item("c", 2, "output", module_context="sales", conversation="dcf"),
            item("d", 3, "output", module_context="margin", conversation="tax", session_id="s"),
            item("e", 4, "output", conversation="dcf", session_id="s", entities=["ACME", "B"]),
        ]
    )
    return made


def item(name, hours, memory_type, text="the ferry leaves at noon", **fields):
    return NewItem(
        memory_type=memory_type,
        text=f"{text} {name}",
        memory_id=name,
        timestamp=NOON + timedelta(hours=hours),
        **fields,
    )


def names(found):
    return " ".join(one.memory_id for one in found)


CASES = {
    "all, the newest first": ({}, "e d c b a"),
    "the newest": ({"k": 2}, "e d"),
    "a type": ({"memory_type": "chunk"}, "b a"),
    "types": ({"memory_type": ["chunk", "output", "none"]}, "e d c b a"),
    "no type": ({"memory_type": []}, ""),
    "another type": ({"memory_type": "chun"}, ""),
    "a conversation, with what is of none": ({"conversation": "dcf"}, "e c b a"),
    "another conversation": ({"conversation": "none"}, "b a"),
    "a session": ({"session_id": "s"}, "e d"),
    "a session of a conversation": ({"session_id": "s", "conversation": "dcf"}, "e"),
    "a module": ({"module": "sales"}, "c"),
    "modules": ({"module": ["sales", "margin"]}, "d c"),
    "a section": ({"sections": ["MD&A"]}, "b"),
    "one of some sections": ({"sections": ["MD&A", "Item 7"]}, "b a"),
    "a key": ({"keys": ["margin"]}, "a"),
    "an entity": ({"entities": "ACME"}, "e a"),
    "an entity and a type": ({"entities": "ACME", "memory_type": "output"}, "e"),
    "from a time on": ({"since": NOON + timedelta(hours=3)}, "e d"),
    "before a time": ({"before": NOON + timedelta(hours=3)}, "c b a"),
    "a span": ({"since": NOON + timedelta(hours=1), "before": NOON + timedelta(hours=2)}, "b"),
}


@pytest.mark.parametrize("words", [None, "when does the ferry leave"])
@pytest.mark.parametrize("case", CASES)
def test_every_argument_narrows_the_result(items, case, words):
    given, expected = CASES[case]
    found = items.query(words, **given)
    if words is None:
        assert names(found) == expected
        assert {one.score for one in found} <= {None}
    elif "k" not in given:
        assert sorted(names(found).split()) == sorted(expected.split())
        assert all(one.score > 0 for one in found)


@pytest.mark.parametrize("name", ["\ud800", " ", "n" * 2_000])
def test_what_is_asked_for_under_a_name_that_no_item_can_have_is_not_found(items, name):
    for column in ("memory_type", "session_id", "module", "pipeline", "sections", "keys"):
        assert items.query(**{column: name if column == "session_id" else [name]}) == []
    assert names(items.query(sections=[name, "MD&A"])) == "b"
    assert names(items.query(conversation=name)) == "b a"


def test_with_a_question_the_best_comes_first_and_the_rest_not_at_all(items):
    items.put(item("f", -9, "chunk", text="the mast of the boat was repaired"))
    found = items.query("who repaired the mast of the ferry")
    assert names(found)[0] == "f"
    assert len(found) == 6
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert names(items.query("who repaired the mast", k=1)) == "f"
    assert items.query("zebra") == []


def test_messages_and_memories_are_found_with_the_items(memory, items):
    log, dcf = memory.conversation("log"), memory.conversation("dcf")
    log.append([said("the ferry was late"), said("a pity", "assistant")], session="s", at=NOON)
    dcf.append([said("the ferry of ACME sank")], at=NOON - timedelta(hours=1))
    memory.remember("ferry tickets are cheap", memory_id="tickets")
    memory.remember("no ferry today", memory_id="today", conversation="log")
    shown = items.query("ferry", k=100)
    assert len(shown) == 9
    assert items.query("ferry", k=7) == shown[:7]
    assert len(items.query(k=7)) == 7
    assert {"tickets", "today"} <= {one.memory_id for one in shown}
    assert {one.memory_type for one in items.query("ferry", memory_type="conversation")} == {
        "conversation"
    }
    assert [one.text for one in items.query(memory_type="conversation")] == [
        "a pity",
        "the ferry was late",
        "the ferry of ACME sank",
    ]
    of_log = {one.text for one in items.query("ferry", conversation="log")}
    assert {"the ferry was late", "ferry tickets are cheap", "no ferry today"} <= of_log
    assert "the ferry of ACME sank" not in of_log
    of_dcf = {one.text for one in items.query("ferry", conversation="dcf")}
    assert "no ferry today" not in of_dcf
    for words in (None, "ferry"):
        [late] = [
            one for one in items.query(words, session_id="s") if one.id and "late" in one.text
        ]
        assert late.conversation == "log"
        assert "sank" not in str(items.query(words, session_id="s"))
        assert "tickets" not in str(items.query(words, session_id="s"))
        assert names(items.query(words, keys=["margin"])) == "a"
        before = items.query(words, memory_type="conversation", before=NOON)
        assert [one.text for one in before] == ["the ferry of ACME sank"]
        since = items.query(words, memory_type="conversation", since=NOON)
        assert "the ferry was late" in {one.text for one in since}
        assert "the ferry of ACME sank" not in {one.text for one in since}
    assert [one.memory_id for one in items.query(memory_type="fact", k=1)] == ["today"]
    assert items.query(memory_type="fact", before=NOON) == []


def test_what_a_function_or_a_tool_returned_has_their_words(memory):
    call = {"name": "look", "arguments": "{}"}
    used = {"id": "c", "type": "function", "function": call}
    memory.conversation("log").append(
        [
            said("where is the ferry?"),
            {"role": "assistant", "content": None, "function_call": call},
            {"role": "function", "name": "look", "content": "the ferry is at sea"},
            {"role": "assistant", "content": None, "tool_calls": [used]},
            {"role": "tool", "tool_call_id": "c", "content": "the ferry is in port"},
            said("the ferry is in port", "assistant"),
        ]
    )
    found = memory.items.query(memory_type="conversation")
    origins = [one.origin for one in sorted(found, key=lambda one: one.id)]
    assert origins == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


def test_messages_off_the_path_are_not_found(memory, items):
    log = memory.conversation("log")
    first, _ = log.append([said("the ferry was late"), said("a pity", "assistant")])
    log.truncate(first)
    found = items.query(memory_type="conversation")
    assert [one.text for one in found] == ["the ferry was late"]


WRONG = {
    "k": {"k": 0},
    "a text": {"text": 5},
    "a type": {"memory_type": 5},
    "types": {"memory_type": ["a", ""]},
    "a conversation": {"conversation": ""},
    "a session": {"session_id": 5},
    "sections": {"sections": b"a"},
    "keys": {"keys": [None]},
    "a time": {"since": "noon"},
    "another time": {"before": float("nan")},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_argument_is_refused(items, wrong):
    with pytest.raises(InvalidInputError):
        items.query(**WRONG[wrong])
