"""Batches of a log that find the lock busy."""

from __future__ import annotations

import asyncio

import pytest

from warmset.errors import InvalidInputError, Locked
from warmset.native import Add, ColdStore, Log, Outcome, Patch, Put, Remove, Tail, Version, space
from warmset.testing import MemoryLog

KEY = ("t", space("s"), "a")
LIST = ("t", space("s"), "list")
SPOOLED = Outcome("spooled")


@pytest.fixture
def busy(tmp_path):
    """A log that may spool, and the store that keeps the lock from it until it is closed."""
    path = tmp_path / "store"
    holder = ColdStore.open(path, mode="exclusive")
    store = ColdStore.open(path, on_busy="spool", lock_wait=0.01)
    yield Log(store), holder
    holder.close()
    store.close()


def test_a_batch_waits_for_the_next_writer(busy):
    log, holder = busy
    rows = [Put(KEY, b"left", columns={"n": 1}), Add(LIST, b"entry", uid="u", if_present="skip")]
    assert log.write(rows, spool=True, now=5) == [SPOOLED, SPOOLED]
    assert asyncio.run(log.submit([Put(KEY, b"late", if_present="skip")], spool=True)) == [SPOOLED]
    assert log.get(KEY) is None
    holder.close()
    [outcome] = log.write([Add(LIST, b"own", uid="u", if_present="skip")], spool=True)
    [entry] = log.entries(LIST)
    assert outcome == Outcome("present", entry.id)
    assert (entry.payload, entry.uid, entry.at) == (b"entry", b"u", 5)
    cell = log.get(KEY)
    assert (cell.payload, cell.columns, cell.at) == (b"left", {"n": 1}, 5)
    assert log.store.notices[4] == 2


def test_who_keeps_the_lock_takes_it_up_if_there_is_a_log(busy):
    log, holder = busy
    log.write([Put(KEY, b"left")], spool=True)
    holder.append([("item", [b"t", b"x"], b"", b"x")])
    assert log.get(KEY) is None
    own = Log(holder)
    own.write([Remove(("t", space("s"), "none"))])
    assert own.get(KEY).payload == b"left"
    assert log.get(KEY).payload == b"left"


def test_without_the_word_nothing_is_left(busy):
    log, holder = busy
    with pytest.raises(Locked):
        log.write([Put(KEY, b"x")])
    holder.close()
    log.write([Add(LIST, b"x")])
    assert log.get(KEY) is None


@pytest.mark.parametrize("kind", ["store", "memory"])
@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([Put(KEY, b"x", if_present="fail")], {}),
        ([Put(KEY, b"x"), Add(LIST, b"x", uid="u", if_present="fail")], {}),
        ([Put(KEY, b"x"), Patch(KEY, {})], {}),
        ([Remove(KEY)], {}),
        ([Put(KEY, b"x")], {"expect": [Version(KEY, 0)]}),
        ([Put(KEY, b"x")], {"expect": [Tail(LIST, 0)]}),
        ([Put(KEY, b"x")], {"once": "name"}),
    ],
)
def test_what_needs_an_answer_is_refused_whoever_has_the_lock(kind, rows, more):
    with ColdStore.open(None) as store:
        log = Log(store) if kind == "store" else MemoryLog()
        with pytest.raises(InvalidInputError, match=r"^spool: expected puts and additions"):
            log.write(rows, spool=True, **more)
        assert log.get(KEY) is None
        [outcome] = log.write([Put(KEY, b"x", if_present="skip")], spool=True)
        assert outcome.status == "written"


def test_an_outcome_that_is_spooled_has_no_id():
    assert (SPOOLED.status, SPOOLED.id, repr(SPOOLED)) == ("spooled", None, "Outcome('spooled')")
    assert Outcome("nothing") != SPOOLED
    with pytest.raises(InvalidInputError, match="id"):
        Outcome("spooled", 5)
