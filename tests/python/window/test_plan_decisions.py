"""Which decisions of a conversation hold, and where lines with days may stand, by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_locks import alone

from warmset.messages import Facts
from warmset.quote.cache import Cards
from warmset.state.entry import Entry
from warmset.state.ledger import Ledger
from warmset.store.records import TurnMeta
from warmset.window.days import (
    LOOKED_AT,
    MOST_PHRASES,
    is_closed,
    line_before,
    may_stand,
    tail_lines,
)
from warmset.window.decisions import MOST, decisions_of


@pytest.fixture(autouse=True)
def _no_engine():
    with alone():
        yield


DAY = 86_400.0
OLD = "The port of the crane must be 8080."
NEW = "The port of the crane must be 9090."


class Log:
    """A conversation without a store: what is said, one message after the other."""

    def __init__(self):
        self.ledger, self.texts = Ledger("t", "c", (0, 0)), {}
        self.cards = Cards(self.texts.__getitem__, "o200k_base")

    def say(self, text, role="user", **facts):
        id_ = len(self.texts) + 1
        self.texts[id_] = text
        meta = TurnMeta(at=0.0, dialect="openai")
        self.ledger.admit(id_, b"%016d" % id_, Facts(role, text, **facts), meta, 5)
        return id_

    def holding(self):
        found = decisions_of(self.cards, self.ledger)
        live = self.ledger.live()
        return [live[at].id for at in found.places if found.holds(at)]


def test_a_later_decision_ends_an_earlier_one():
    log = Log()
    old, new = log.say(OLD), log.say(NEW)
    assert log.holding() == [new]
    assert old not in log.holding()


def test_what_the_model_decides_and_what_a_tool_returns_ends_nothing_that_a_person_decided():
    log = Log()
    old = log.say(OLD)
    said = log.say(NEW, role="assistant")
    log.say(NEW, role="tool", results=("c",))
    assert log.holding() == [old, said]
    new = log.say(NEW)
    assert old not in log.holding()
    assert log.holding()[-1] == new


def test_another_branch_has_its_own_decisions():
    """Both paths have as many messages, and decide in the same places."""
    log = Log()
    first = log.say("Let us begin.")
    old, end = log.say(OLD), log.say(NEW)
    assert log.holding() == [end]
    log.ledger.history.move(first)
    other = [log.say("We agreed on red paint."), log.say(OLD)]
    assert log.holding() == other
    log.ledger.history.move(end)
    assert log.holding() == [end]
    assert old not in log.holding()


def test_of_very_many_decisions_the_newest_are_read_at_first():
    log = Log()
    old = [log.say(OLD) for _ in range(3)]
    for at in range(MOST - 1):
        log.say(f"We agreed to paint boat number {at}.")
    new = log.say(NEW)
    assert len(log.texts) == MOST + 3
    assert set(old) <= set(log.holding()), "not read, so taken to hold"
    log = Log()
    for at in range(5):
        log.say(f"We agreed to paint lamp number {at}.")
    old = log.say(OLD)
    for at in range(MOST - 2):
        log.say(f"We agreed to paint boat number {at}.")
    new = log.say(NEW)
    assert old not in log.holding(), "the oldest of the newest"
    assert new in log.holding()


# --- days -----------------------------------------------------------------------------------------


def entry(id_, day, role="user", **facts):
    said = Facts(role, "said", **facts)
    return Entry(id_, said, day * DAY + 3_600, None, 0, 5, False, False, None)


CALL = {"role": "assistant", "calls": ("c",)}
RESULT = {"role": "tool", "results": ("c",)}


@pytest.mark.parametrize(
    ("before", "there"),
    [
        (None, True),
        (entry(1, 0), True),
        (entry(1, 0, "assistant"), True),
        (entry(1, 0, **CALL), False),
        (entry(1, 0, **RESULT), False),
        (entry(1, 0, "system"), False),
    ],
)
def test_a_line_stands_before_a_reply_unless_it_goes_on_with_a_loop(before, there):
    assert may_stand(before, entry(2, 1, "assistant")) is there
    assert may_stand(before, entry(2, 1)) is True
    for one in (entry(2, 1, **RESULT), entry(2, 1, "system"), entry(2, 1, keep=True)):
        assert may_stand(before, one) is False


def test_lines_stand_where_the_day_changes_and_never_within_a_unit():
    cards = Cards(lambda _: "said", "o200k_base")
    units = [
        [entry(1, 1)],
        [entry(2, 2, **CALL), entry(5, 4, **RESULT)],  # its result comes late
        [entry(3, 3)],
        [entry(4, 3, "assistant")],
        [entry(6, 4)],
        [entry(7, 5)],
    ]

    def lines(until=None):
        return [(line.before, line.ids) for line in tail_lines(cards, units, until=until)]

    assert lines() == [(1, (1,)), (2, (2,)), (6, (6,)), (7, (7,))]
    assert lines(7) == lines()
    assert lines(6) == lines()[:3]
    assert lines(5) == lines()[:2]


def test_no_line_stands_behind_a_request_whose_loop_goes_on_or_thinks():
    plain = [entry(1, 1), entry(2, 1, "assistant")]
    assert is_closed(plain)
    assert not is_closed([*plain, entry(3, 1, **CALL)])
    assert not is_closed([*plain, entry(3, 1, **RESULT)])
    assert not is_closed([*plain, replace(entry(3, 1, "assistant"), behind=object())])


def test_a_line_has_so_many_phrases_of_so_many_messages():
    phrases = ["yesterday", "today", "tomorrow", "last week", "next week", "last month",
               "next month", "last year", "next year"]  # fmt: skip
    cards = Cards(lambda id_: f"I was there {phrases[(id_ - 1) % len(phrases)]}.", "o200k_base")

    def named(count):
        return line_before(cards, [entry(at, 40) for at in range(1, count + 1)]).text.count('" is ')

    every = [named(count) for count in range(1, len(phrases) + 1)]
    assert every[0] == 1
    assert max(every) == MOST_PHRASES == 6
    assert every == sorted(every)
    late = Cards(lambda id_: "yesterday" if id_ > LOOKED_AT else "said", "o200k_base")
    entries = [entry(at, 40) for at in range(1, LOOKED_AT + 2)]
    assert '" is ' not in line_before(late, entries).text
    assert '" is ' in line_before(late, entries[1:]).text
