"""The units of a growing conversation are those of the whole list, however it grew."""

from __future__ import annotations

import pytest
from checked_locks import alone
from hypothesis import example, given, strategies as st
from unit_facts import FACTS, fact

from warmset._core import Units
from warmset.messages import anchor, exchange_start, units
from warmset.options import RECENT
from warmset.state.ledger import Ledger
from warmset.state.unit_costs import Accounts
from warmset.store.records import TurnMeta
from warmset.window.layout import frame


def grown(facts):
    """Take facts up one by one, and all anew where that is asked for."""
    accounts = Accounts()
    for at, one in enumerate(facts):
        if not accounts.roll.take([one], [1], False):
            accounts = Accounts(Units.of(facts[: at + 1], [1] * (at + 1), False))
    return accounts


ASKED = fact("user", (), (), True)
SAID = fact("assistant", (), (), False)
TOLD = fact("system", (), (), False)


@given(st.lists(FACTS, max_size=14))
@example([*[fact("assistant", ["a"], (), False)] * 2, fact("user", (), ["a", "a"], False)])
def test_the_units_are_those_of_the_whole_list(facts):
    accounts, expected = grown(facts), units(facts)
    assert [accounts.unit(at) for at in range(len(accounts.roll))] == expected
    assert accounts.open == [at for at, unit in enumerate(expected) if unit.open]
    assert accounts.systems == [at for at, unit in enumerate(expected) if unit.kind == "system"]
    assert accounts.asked_at == exchange_start(facts)
    task = anchor(facts)
    assert (accounts.task is None) == (task is None)
    for place in range(len(facts)):
        [at] = [n for n, unit in enumerate(expected) if place in unit.members]
        assert tuple(accounts.beside(place)) == expected[at].members
        assert accounts.task == at or place != task
        assert accounts.asked == at or place != accounts.asked_at
        since = accounts.since(place)
        assert since == [n for n, unit in enumerate(expected) if unit.members[-1] >= place]


@pytest.mark.parametrize(
    ("facts", "left"),
    [
        ([fact("assistant", ["a"], (), False), ASKED], True),
        ([ASKED, fact("assistant", ["a"], (), False)], False),
        (
            [
                fact("assistant", ["a", "b"], (), False),
                ASKED,
                fact("tool", (), ["a"], False),
            ],
            False,
        ),
    ],
)
@alone()
def test_calls_are_left_once_all_that_belongs_to_them_is_older_than_the_last_request(facts, left):
    accounts = grown(facts)
    (number,) = accounts.open
    assert accounts.is_left(number) == left
    assert accounts.unsendable(0) == ([number] if left else [])


@pytest.mark.parametrize("called", [False, True])
@alone()
def test_a_result_is_one_of_a_stored_call_only_where_nothing_was_called_before(called):
    accounts = Accounts()
    before = [fact("assistant", ["a"], (), False), fact("tool", (), ["a"], False)] * called
    facts = [*before, fact("tool", (), ["b"], False)]
    assert accounts.roll.take(facts, [1] * len(facts), True)
    number = len(accounts.roll) - 1
    assert accounts.unit(number).kind == ("orphan" if called else "tool")
    assert accounts.fixed == ([] if called else [number])


def ledger_of(facts):
    ledger = Ledger("t", "c", (0, 0))
    for at, one in enumerate(facts, start=1):
        meta = TurnMeta(at=0.0, dialect="openai")
        ledger.admit(at, b"%016d" % at, one, meta, 1)
    return ledger


def parted(facts, recent, appended):
    """Say what a window shows verbatim, by positions, reading the whole list."""
    asked = exchange_start(facts) if appended else None
    spoken = [at for at, one in enumerate(facts) if not one.is_system]
    if appended and exchange_start(facts) is None and spoken:
        asked = next(u.members[0] for u in units(facts) if spoken[-1] in u.members)
        recent = max(recent - 1, 0)
    sent = [u for u in units(facts) if u.kind != "orphan"]
    now = [u for u in sent if asked is not None and u.members[-1] >= asked]
    before = [u for u in sent if u not in now and not u.open and u.kind != "system"]
    held = [at for at, one in enumerate(facts) if one.keep or one.is_system]
    kept = [u for u in before if not {*held}.isdisjoint(u.members)]
    first = [u for u in before if anchor(facts) in u.members and u not in kept]
    earlier = [u for u in before if u not in first and u not in kept]
    systems = [u.members for u in sent if u.kind == "system"]
    lead = next((at for at, one in enumerate(facts) if not one.is_system), len(facts))
    return {
        "system": [members for members in systems if members[0] < lead],
        "placed": [
            *(members for members in systems if members[0] > lead),
            *(u.members for u in kept),
        ],
        "anchor": [u.members for u in first],
        "recent": [u.members for u in earlier[max(len(earlier) - recent, 0) :] if recent],
        "current": [u.members for u in now if u.kind != "system"],
    }


@given(st.lists(FACTS, max_size=14), st.integers(0, 5), st.booleans())
@example(facts=[SAID, SAID, TOLD], recent=2, appended=True)
@alone()
def test_a_frame_is_what_the_whole_list_says(facts, recent, appended):
    made = frame(ledger_of(facts), recent=recent, since=None, appended=appended)
    places = {
        name: [tuple(entry.id - 1 for entry in unit) for unit in getattr(made, name)]
        for name in ("system", "placed", "anchor", "recent", "current")
    }
    assert places == parted(facts, recent, appended)
    recent_ids = [entry.id for unit in made.recent for entry in unit]
    if recent_ids:
        again = frame(ledger_of(facts), recent=0, since=min(recent_ids), appended=appended)
        firsts = [unit[0].id for unit in again.recent]
        assert firsts == [unit[0].id for unit in made.recent if unit[0].id >= min(recent_ids)]


@pytest.mark.parametrize("kept", [0, 2, 3])
@alone()
def test_a_branch_is_read_anew(kept):
    ledger = ledger_of([fact("user", (), (), True), fact("assistant", ["a"], (), False)] * 2)
    assert [entry.id for entry in ledger.live()] == [1, 2, 3, 4]
    ledger.history.move(kept)
    assert [entry.id for entry in ledger.live()] == [1, 2, 3, 4][:kept]
    assert ledger.together([4]) == [()]
    assert len(ledger.accounts()) == kept
    parts = frame(ledger, recent=RECENT, since=None, appended=True)
    assert sum(len(unit) for unit in parts.units()) <= kept
