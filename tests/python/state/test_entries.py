"""Messages come back as objects as they were told, each made once while it is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked_locks import alone

from warmset.messages import Facts
from warmset.messages.prefix import Prefix
from warmset.state import entries
from warmset.state.columns import Columns
from warmset.state.entry import Entry
from warmset.state.ledger import Ledger
from warmset.store.descriptions import Described
from warmset.store.records import TurnMeta

LONE = "call \ud800"
OTHER = "call \ud801"


@pytest.fixture(autouse=True)
def _no_engine():
    with alone():
        yield


@pytest.fixture
def ledger():
    return Ledger("t", "c", (0, 0))


def admit(ledger, id_, facts=None, **meta):
    said = facts or Facts("user", f"turn {id_}", request=True)
    given = TurnMeta(**{"at": 60.0 * id_, "dialect": "openai", **meta})
    ledger.admit(id_, b"%016d" % id_, said, given, id_)
    return ledger.entries[id_]


def test_an_entry_is_what_was_told(ledger):
    behind = Prefix(b"a" * 12, b"b" * 12, None, b"c" * 12, "model")
    facts = Facts(
        "assistant",
        "Decided: we use Postgres.",
        (LONE, "b"),
        ("c",),
        bond=3,
        keep=True,
        thinks=True,
        item_id="rs_1",
    )
    made = admit(
        ledger, 7, facts, speaker="Zoë \U0001f600", extra={"a": [1, None]}, behind=behind, key=OTHER
    )
    assert made == Entry(
        id=7,
        facts=replace(facts, text=""),
        at=420.0,
        speaker="Zoë \U0001f600",
        session=0,
        tokens=7,
        decision=True,
        blank=False,
        extra={"a": [1, None]},
        behind=behind,
        key=OTHER,
    )
    assert ledger.keyed(OTHER) == 7
    assert ledger.keyed(LONE) is None
    plain = admit(ledger, 8, Facts("system", " \n"))
    assert (plain.blank, plain.decision, plain.extra, plain.behind, plain.key) == (
        True,
        False,
        None,
        None,
        None,
    )
    assert plain.facts == Facts("system", "")


def test_calls_are_told_apart_by_lone_surrogates(ledger):
    admit(ledger, 1, Facts("assistant", "", (LONE,)))
    admit(ledger, 2, Facts("assistant", "", (OTHER,)))
    admit(ledger, 3, Facts("tool", "done", results=(LONE,)))
    accounts = ledger.accounts()
    assert [tuple(accounts.members(unit)) for unit in range(2)] == [(0, 2), (1,)]
    assert accounts.open == [1]


def test_the_entries_are_a_mapping_in_the_order_of_ids(ledger):
    for id_ in (3, 5, 9):
        admit(ledger, id_)
    ledger.history.move(3)
    admit(ledger, 12)
    assert list(ledger.entries) == [3, 5, 9, 12]
    assert len(ledger.entries) == 4
    assert 5 in ledger.entries
    assert "5" not in ledger.entries
    assert -1 not in ledger.entries
    for absent in (4, 0, -1, 1 << 64, "3", None):
        assert ledger.entries.get(absent) is None
    with pytest.raises(KeyError):
        ledger.entries[4]
    assert [one.id for one in ledger.entries.values()] == [3, 5, 9, 12]


def test_what_was_asked_for_lately_is_held(ledger, monkeypatch):
    monkeypatch.setattr(entries, "HELD", 4)
    for id_ in range(1, 9):
        admit(ledger, id_)
    first = ledger.entries[8]
    assert ledger.entries[8] is first
    for id_ in (1, 2, 3):
        assert ledger.entries[id_].id == id_
    assert ledger.entries[8] is first, "it was asked for among the last"
    for id_ in range(1, 8):
        assert ledger.entries[id_].id == id_
    again = ledger.entries[8]
    assert again is not first
    assert again == first


@pytest.mark.parametrize("decision", [None, False, True])
def test_a_description_is_seen_from_then_on(ledger, decision):
    was = admit(ledger, 1, Facts("user", "Decided: we use Postgres."))
    admit(ledger, 2)
    ledger.describe(1, Described(5, decision))
    now = ledger.entries[1]
    assert (now.described, was.described) == (Described(5, decision), None)
    assert now.decision == (decision is not False)
    with pytest.raises(KeyError):
        ledger.describe(9, Described(5, decision))
    ledger.describe(1, Described(6, None))
    assert ledger.entries[1].described == Described(6, None)
    assert ledger.entries[1].decision  # what the built-in rule says


def test_a_list_of_messages_stays_as_it_was(ledger):
    for id_ in (1, 2, 3):
        admit(ledger, id_)
    live = ledger.live()
    admit(ledger, 4)
    assert [one.id for one in live] == [1, 2, 3]
    ledger.history.move(1)
    admit(ledger, 5)
    assert [one.id for one in live] == [1, 2, 3]
    assert [one.id for one in ledger.live()] == [1, 5]
    assert [live[at].id for at in (0, 2, -1, -3)] == [1, 3, 3, 1]
    assert [one.id for one in live[1:9]] == [2, 3]
    assert [one.id for one in reversed(live)] == [3, 2, 1]
    assert [one.id for one in live[::-2]] == [3, 1]
    for at in (3, -4):
        with pytest.raises(IndexError):
            live[at]


def test_the_first_system_message_of_the_path_is_found(ledger):
    assert ledger.first_system() is None
    admit(ledger, 1)
    assert ledger.first_system() is None
    for id_ in (2, 3):
        admit(ledger, id_, Facts("system" if id_ == 3 else "developer", "be kind"))
    first = ledger.first_system()
    assert first is not None
    assert first.id == 2
    ledger.history.move(1)
    admit(ledger, 4, Facts("system", "be brief"))
    first = ledger.first_system()
    assert first is not None
    assert first.id == 4


def test_nothing_has_a_place_among_no_messages():
    assert Columns().places(np.array([1, 2])).tolist() == [-1, -1]
