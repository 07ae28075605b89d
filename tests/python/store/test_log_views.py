"""Reads of one moment, and copies of one."""

import asyncio

import pytest

from warmset.errors import Conflict, InvalidInputError
from warmset.native import (
    Add,
    ColdStore,
    Copied,
    Cut,
    Log,
    Patch,
    Put,
    Tail,
    Version,
    View,
    space,
)

RUN = ("t", space("runs"), "1")
AGAIN = ("t", space("runs"), "2")
STATE, STEPS = (*RUN, "state"), (*RUN, "steps")


@pytest.fixture
def log(tmp_path):
    with ColdStore.open(tmp_path, durability="os") as store:
        yield Log(store)


def test_a_view_has_all_in_the_order_asked_for(log):
    written = log.write([Put(STATE, b"on"), Add(STEPS, b"a"), Add(STEPS, b"b"), Add(STEPS, b"c")])
    ids = [one.id for one in written]
    seen = log.view(cells=[(*RUN, "none"), STATE], lists=[STEPS, (*RUN, "none")])
    assert isinstance(seen, View)
    assert [cell and cell.version for cell in seen.cells] == [None, ids[0]]
    assert [[entry.id for entry in one] for one in seen.lists] == [ids[1:], []]
    assert seen.tails == [ids[3], 0]
    last = log.view(lists=iter([list(STEPS)]), limit=2, reverse=True)
    assert [entry.id for entry in last.lists[0]] == [ids[3], ids[2]]
    assert last.cells == []
    # What it gives are conditions.
    log.write([Cut(STEPS, after=ids[1])], expect=[Tail(STEPS, seen.tails[0])])
    log.write([Put(STATE, b"off")], expect=[Version(STATE, seen.cells[1].version)])
    assert log.view() == View([], [], [])


def test_a_view_has_a_thousand_entries_of_a_list_unless_told_otherwise(log):
    log.write([Add(STEPS, b"") for _ in range(1_001)])
    assert len(log.view(lists=[STEPS]).lists[0]) == 1_000
    assert len(log.view(lists=[STEPS], limit=None).lists[0]) == 1_001


def test_what_has_expired_is_in_no_view(log):
    log.write([Put(STATE, b"", expires=5), Add(STEPS, b"", expires=6)], now=1)
    for now, cells, entries in ((4, 1, 1), (5, 0, 1), (6, 0, 0)):
        seen = log.view(cells=[STATE], lists=[STEPS], now=now)
        assert (seen.cells[0] is not None, len(seen.lists[0])) == (bool(cells), entries), now


def test_a_copy_keeps_what_is_shown(log):
    first = log.write([Put((*RUN, "source"), b"")])[0].id
    put = Put(STATE, b"on", columns={"n": 1}, codec="x", own=b"own", sources=[first], expires=50)
    log.write([put, Add(STEPS, b"a", uid="u"), Add(STEPS, b"gone", expires=9)], now=1)
    log.write([Patch(STATE, {"n": 2}, expires=60)], now=2)
    assert log.copy(RUN, AGAIN, now=10) == Copied(2, 1)
    cell = log.get((*AGAIN, "state"), now=10)
    assert (cell.payload, cell.columns, cell.codec, cell.own) == (b"on", {"n": 2}, "x", b"own")
    assert (cell.expires, cell.born) == (60, cell.version)
    (entry,) = log.entries((*AGAIN, "steps"), now=10)
    assert (entry.payload, entry.uid, entry.parent) == (b"a", b"u", 0)
    log.erase(ids=[first])
    assert log.get(STATE, now=10) is None
    assert log.get((*AGAIN, "state"), now=10) == cell


def test_a_copy_onto_something_is_a_conflict_and_changes_nothing(log):
    log.write([Put(STATE, b"on")])
    other = log.write([Add((*AGAIN, "steps"), b"")])[0].id
    with pytest.raises(Conflict) as info:
        log.copy(RUN, AGAIN)
    assert (info.value.reason, info.value.current, info.value.row) == ("present", other, None)
    assert log.count(AGAIN) == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda log: log.view(cells=STATE), r"cells\[0\]"),
        (lambda log: log.view(cells="key"), "cells"),
        (lambda log: log.view(lists=b"key"), "lists"),
        (lambda log: log.view(lists=[STEPS, (1,)]), r"lists\[1\]"),
        (lambda log: log.view(cells=[()]), "key"),
        (lambda log: log.view(limit=-1), "limit"),
        (lambda log: log.view(reverse=1), "reverse"),
        (lambda log: log.view(now="now"), "now"),
        (lambda log: log.copy(RUN, RUN), "to"),
        (lambda log: log.copy(RUN[:2], RUN), "to"),
        (lambda log: log.copy((), RUN), "key"),
        (lambda log: log.copy(RUN, ("t", 1)), "target"),
        (lambda log: log.copy(RUN, AGAIN, depth=-1), "depth"),
        (lambda log: log.copy(RUN, AGAIN, sync=1), "sync"),
    ],
)
def test_what_is_no_such_argument_is_refused_by_name(log, call, says):
    with pytest.raises(InvalidInputError, match=says):
        call(log)


def test_both_are_for_asyncio(log):
    async def both():
        await log.submit([Put(STATE, b"on")])
        copied = await log.acopy(RUN, AGAIN)
        return copied, await log.aview(cells=[(*AGAIN, "state")])

    copied, seen = asyncio.run(both())
    assert (copied.cells, seen.cells[0].payload) == (1, b"on")
