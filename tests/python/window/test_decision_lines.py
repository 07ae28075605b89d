"""The index begins with the conversation's decisions, whether the request asks for them or not."""

from __future__ import annotations

import pytest

from warmset import Memory, count_tokens
from warmset.options import DECISION_SHARE, DECISIONS

DECIDED = {41: "We agreed on Postgres.", 222: "Decided: Tuesday.", 430: "We chose the red paint."}


def said(role, text):
    return {"role": role, "content": text}


def talk(count, decided):
    """Turns about boats, with decisions that have no word of any request."""
    return [
        said(
            "assistant" if at % 2 else "user",
            decided.get(at, f"Boat {at} lies at quay {at % 9}, beside crane {at % 7}."),
        )
        for at in range(count)
    ]


class Nothing:
    """Picks nothing, so that all that was found is left for the index."""

    def pick(self, _request, _candidates, /, limit):  # noqa: ARG002 - as all are
        return []


@pytest.fixture
def conversation():
    with Memory.open(None, embedder="lexical") as opened:
        yield opened.conversation("log")


def index(window):
    """The ids of the index's lines, and its text."""
    ids = next((part.ids for part in window.parts if part.name == "index"), ())
    lines = [
        line
        for message in window.messages
        for line in message["content"].splitlines()
        if line.startswith("#") and " [decision]: " in line
    ]
    return ids, lines


@pytest.mark.parametrize("asked", ["Where does boat 77 lie?", "Hm?", "zebra"])
def test_decisions_of_a_long_conversation_are_in_the_window(conversation, asked):
    ids = conversation.append(talk(600, DECIDED))
    window = conversation.window(asked, budget=2_000)
    found, lines = index(window)
    assert {ids[at] for at in DECIDED} <= set(found)
    assert [line.split(": ", 1)[1] for line in lines] == list(DECIDED.values())


def test_the_newest_come_first_and_leave_room_for_what_was_found(conversation):
    texts = {
        at: f"Decided in meeting {at}: the harbour pays for item {at}." for at in range(0, 600, 2)
    }
    ids = conversation.append(talk(600, texts))
    options = {"budget": 2_000, "recent": 2, "picker": Nothing()}
    window = conversation.window("Where does boat 77 lie? Boat 77, quay, crane?", **options)
    found, lines = index(window)
    settled = [id_ for id_ in found if (id_ - ids[0]) % 2 == 0]
    others = [id_ for id_ in found if id_ not in settled]
    assert others, "lines of the search"
    shown = {id_ for part in window.parts if part.name != "index" for id_ in part.ids}
    newest = [id_ for id_ in reversed(ids[::2]) if id_ not in shown]
    assert sorted(settled, reverse=True) == newest[: len(settled)]
    part = next(part for part in window.parts if part.name == "index")
    assert part.tokens <= 200
    own = [line for line in lines if "[decision]" in line]
    assert len(own) == len(settled)
    assert sum(count_tokens(f"{line}\n") for line in own) <= 200 * DECISION_SHARE


def test_what_is_left_goes_to_older_decisions(conversation):
    texts = {at: f"Decided in meeting {at}: the harbour pays." for at in range(0, 600, 2)}
    conversation.append(talk(600, texts))
    window = conversation.window("zebra", budget=2_000)
    part = next(part for part in window.parts if part.name == "index")
    assert 80 < part.tokens <= 100, "half of a tenth: the budget is half of what is not small"
    wide = conversation.window("zebra?", budget=40_000, min_saving=0, index_share=0.9)
    assert len(index(wide)[0]) == DECISIONS


def test_no_decision_is_shown_twice(conversation):
    ids = conversation.append(
        talk(600, {**DECIDED, 598: "Decided: no lights.", 0: "We must hurry."})
    )
    window = conversation.window("What did we say of Postgres?", budget=2_000)
    verbatim = {id_ for part in window.parts if part.name != "index" for id_ in part.ids}
    assert {ids[0], ids[41], ids[598]} <= verbatim
    assert set(index(window)[0]) & set(ids) >= {ids[222], ids[430]}
    assert not set(index(window)[0]) & verbatim


def test_what_a_tool_returned_is_no_decision(conversation):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    before = talk(100, {})
    conversation.append(
        [
            *before,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "You must not: final conclusion."},
            *talk(300, {}),
        ]
    )
    ids = conversation.append(said("user", "We decided on oars."))
    conversation.append(talk(51, {})[1:])
    found, _ = index(conversation.window("zebra", budget=2_000))
    assert found == tuple(ids)


def test_decisions_of_a_branch_that_was_left_are_not_shown(conversation):
    history = talk(600, DECIDED)
    conversation.sync(history)
    edited = [*history[:300], said("user", "Something else."), *talk(200, {})[1:]]
    conversation.sync(edited)
    _, lines = index(conversation.window("zebra", budget=2_000))
    assert [line.split(": ", 1)[1] for line in lines] == [DECIDED[41], DECIDED[222]]
