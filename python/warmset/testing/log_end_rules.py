"""The rules of what expires, of erasing and of compaction, one by one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from warmset.store.conditions import Tail, Version
from warmset.store.rows import (
    Add,
    Patch,
    Put,
    RemoveBelow,
    RemoveExpired,
)
from warmset.testing.log_stage import (
    conflict,
    ids,
    last_parts,
    outcomes_are,
    payload,
    payloads,
    same,
)

if TYPE_CHECKING:
    from warmset.testing.log_stage import Stage

SPACE = ("t", b"\xffs")
A, B, C, D = ((*SPACE, name) for name in "abcd")
LIST, OTHER_LIST = ("t", b"\xffl", "list"), ("t", b"\xffl", "other")
TALK = ("t", "conversation")
ELSEWHERE = ("u", b"\xffs", "a")


# --- what expires ---------------------------------------------------------------------------------


def what_expires_is_absent_from_that_moment_on(stage: Stage) -> None:
    """Expired is what has `expires` at or before `now`, in every read."""
    log = stage.log()
    ids(log.write([Put(A, b"1", expires=10), Add(LIST, b"1", expires=10), Add(LIST, b"2")], now=0))
    there = log.version(A, now=9)
    for now, wanted in ((9, True), (10, False), (11, False)):
        same(log.get(A, now=now) is not None, wanted, f"get at {now} of what expires at 10")
        same(log.version(A, now=now), there if wanted else 0, f"version at {now}")
        same(len(log.scan(SPACE, now=now)), int(wanted), f"rows of a scan at {now}")
        same(log.count(SPACE, now=now), int(wanted), f"count at {now}")
        wants = [b"1", b"2"] if wanted else [b"2"]
        same(payloads(log, LIST, now=now), wants, f"entries at {now}")
    same(there > 0, True, "whether there was a version")


def conditions_count_what_has_expired_as_absent(stage: Stage) -> None:
    """Conditions and `if_present` are judged by the batch's clock; a cell is born anew."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1", expires=10)], now=0))
    conflict(
        log,
        [],
        expect=[Version(A, 0)],
        now=9,
        row=None,
        key=A,
        reason="version",
        current=first,
    )
    outcomes_are(log.write([Put(A, b"2", if_present="skip")], now=9), ("present", first))
    conflict(
        log,
        [],
        expect=[Version(A, first)],
        now=10,
        row=None,
        key=A,
        reason="version",
        current=None,
    )
    rows = [Put(A, b"2", if_present="fail")]
    [second] = ids(log.write(rows, expect=[Version(A, 0)], now=10))
    cell = log.get(A, now=99)
    same((cell.payload, cell.born, cell.born_at), (b"2", second, 10), "the cell that is born anew")


def an_expired_entry_keeps_its_place(stage: Stage) -> None:
    """An expired entry is not shown, but it is still the tail and has its uid."""
    log = stage.log()
    first, second = ids(log.write([Add(LIST, b"1"), Add(LIST, b"2", uid="u", expires=5)], now=0))
    same((payloads(log, LIST, now=5), log.tail(LIST)), ([b"1"], second), "entries and the tail")
    row = Add(LIST, b"3", uid="u", if_present="skip")
    outcomes_are(log.write([row], now=9), ("present", second))
    [third] = ids(log.write([Add(LIST, b"3")], expect=[Tail(LIST, second)], now=9))
    found = [(one.id, one.parent) for one in log.entries(LIST, now=9)]
    same(found, [(first, 0), (third, second)], "ids and parents")
    same(
        [one.id for one in log.entries(LIST, now=9, limit=1, after=first)], [third], "the next page"
    )


def a_time_to_live_counts_from_the_batch_s_clock(stage: Stage) -> None:
    """`ttl` is seconds or a timedelta behind `now`."""
    log = stage.log()
    rows = [Put(A, b"", ttl=2), Put(B, b"", ttl=timedelta(seconds=1)), Add(LIST, b"", ttl=0.5)]
    ids(log.write(rows, now=100))
    same(log.get(A, now=100).expires, 2_000_100, "expiry by seconds")
    same(log.get(B, now=100).expires, 1_000_100, "expiry by a timedelta")
    same(log.entries(LIST, now=100)[0].expires, 500_100, "expiry of an entry")


def what_has_expired_is_removed_for_good(stage: Stage) -> None:
    """`RemoveExpired` and `sweep` take what has expired, with what was made from it."""
    for sweep in (False, True):
        log = stage.log()
        rows = [Put(A, b"", expires=10), Put(B, b"", expires=11), Put(C, b"", expires=10)]
        cell, _, _ = ids(log.write(rows, now=0))
        entry, _ = ids(log.write([Add(LIST, b"1", expires=10), Add(LIST, b"2")], now=0))
        made = [Put(ELSEWHERE, b"", sources=[cell]), Add(OTHER_LIST, b"", sources=[entry])]
        ids(log.write([*made, Patch(C, {}, expires=12)], now=0))
        takes = [RemoveExpired(A), RemoveExpired(B), RemoveExpired(C), RemoveExpired(LIST)]
        if sweep:
            same(log.sweep(now=9), 0, "keys that a sweep takes before anything expires")
            same(log.sweep(now=10), 2, "keys that a sweep takes")
            same(log.sweep(now=10), 0, "keys that a second sweep takes")
        else:
            outcomes_are(log.write(takes, now=9), *[("nothing", None)] * 4)
            found = [one.status for one in log.write(takes, now=10)]
            same(found, ["written", "nothing", "nothing", "written"], "outcomes")
        left = [log.version(key, now=0) > 0 for key in (A, B, C, ELSEWHERE)]
        same(left, [False, True, True, False], "cells that are left, by a clock that went back")
        same(payloads(log, LIST, now=0), [b"2"], "entries that are left")
        same(payloads(log, OTHER_LIST, now=0), [], "what was made from an expired entry")


# --- erasing --------------------------------------------------------------------------------------


def a_prefix_is_erased_with_what_was_made_from_it(stage: Stage) -> None:
    """Erasing a prefix takes cells and lists below it, and what was made from them."""
    log = stage.log()
    cell, entry = ids(log.write([Put(A, b"1"), Add((*SPACE, "l"), b"1")], now=0))
    [made] = ids(log.write([Put(ELSEWHERE, b"of it", sources=[cell])], now=0))
    rows = [Add(LIST, b"of that", sources=[made]), Add(LIST, b"own")]
    ids(log.write([*rows, Put(("t", b"\xffs2"), b"own")], now=0))
    ids(log.write([Put(A, b"2"), Add(OTHER_LIST, b"of an entry", sources=[entry])], now=0))
    log.erase(prefix=SPACE)
    same([log.get(key, now=0) for key in (A, ELSEWHERE)], [None, None], "cells")
    same(log.tail((*SPACE, "l")), 0, "the tail of a list below the prefix")
    same(payloads(log, LIST, now=0), [b"own"], "another list")
    same(payloads(log, OTHER_LIST, now=0), [], "what was made from an entry")
    same(payload(log, ("t", b"\xffs2"), now=0), b"own", "a key that begins with the same bytes")
    [anew] = ids(log.write([Put(A, b"3", if_present="fail")], now=0))
    same((log.get(A, now=0).born, payload(log, A, now=0)), (anew, b"3"), "what is put afterwards")


def an_erased_version_goes_with_all_older_ones(stage: Stage) -> None:
    """Erasing the newest version leaves no cell; erasing an older one leaves the newest."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1")], now=0))
    ids(log.write([Put(B, b"of the first", sources=[first])], now=0))
    [second] = ids(log.write([Put(A, b"2")], now=0))
    [third] = ids(log.write([Put(A, b"3")], now=0))
    log.erase(ids=[second])
    same(payload(log, A, now=0), b"3", "the cell after an older version was erased")
    same(log.get(B, now=0), None, "what was made from a version that was older still")
    log.erase(ids=[third])
    same(log.get(A, now=0), None, "the cell after its newest version was erased")


def an_erased_entry_leaves_no_gap(stage: Stage) -> None:
    """Erasing an entry takes those that it replaced; what was behind it follows what was before."""
    log = stage.log()
    first, old = ids(log.write([Add(LIST, b"1"), Add(LIST, b"old", uid="u")], now=0))
    ids(log.write([Put(A, b"of the old one", sources=[old])], now=0))
    new, last = ids(log.write([Add(LIST, b"new", uid="u"), Add(LIST, b"2")], now=0))
    same(payload(log, A, now=0), b"of the old one", "what was made from an entry that was replaced")
    log.erase(ids=(new,))
    pairs = [(one.id, one.parent) for one in log.entries(LIST, now=0)]
    same(pairs, [(first, 0), (last, first)], "ids and parents")
    same((log.get(A, now=0), log.tail(LIST)), (None, last), "what was made of it, and the tail")
    log.erase(ids=[last])
    same(log.tail(LIST), first, "the tail after the last entry was erased")


def compaction_changes_nothing_that_is_shown(stage: Stage) -> None:
    """`compact` frees bytes, and brings nothing back."""
    log = stage.log()
    for n in range(20):
        ids(log.write([Put(A, b"%d" % n), Add(LIST, b"%d" % n), Put((*B, str(n)), b"")], now=0))
    log.write([RemoveBelow(B), Put(C, b"", expires=5), Patch(A, {"n": 1})], now=0)
    log.erase(prefix=ELSEWHERE)
    before = (log.scan(now=0), log.entries(LIST, now=0))
    log.compact(now=4)
    same(list(before[0]), list(log.scan(now=0)), "a scan after a compaction")
    same(list(before[1]), list(log.entries(LIST, now=0)), "entries after a compaction")
    log.compact(now=5)
    same(last_parts(log.scan(now=0)), [b"a"], "cells after a compaction behind an expiry")


END_RULES = (
    what_expires_is_absent_from_that_moment_on,
    conditions_count_what_has_expired_as_absent,
    an_expired_entry_keeps_its_place,
    a_time_to_live_counts_from_the_batch_s_clock,
    what_has_expired_is_removed_for_good,
    a_prefix_is_erased_with_what_was_made_from_it,
    an_erased_version_goes_with_all_older_ones,
    an_erased_entry_leaves_no_gap,
    compaction_changes_nothing_that_is_shown,
)
"""Rules about what comes to an end."""
