"""The rules of lists and of removals, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.store.rows import (
    Add,
    Cut,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
)
from warmset.testing.log_stage import (
    conflict,
    ids,
    outcomes_are,
    payload,
    payloads,
    same,
)

if TYPE_CHECKING:
    from warmset.store.rows import Row
    from warmset.testing.log_stage import Stage

SPACE = ("t", b"\xffs")
A, B, C, D = ((*SPACE, name) for name in "abcd")
LIST, OTHER_LIST = ("t", b"\xffl", "list"), ("t", b"\xffl", "other")
TALK = ("t", "conversation")
ELSEWHERE = ("u", b"\xffs", "a")


# --- lists ----------------------------------------------------------------------------------------


def entries_come_in_order_by_pages(stage: Stage) -> None:
    """Entries come in the order of their ids, or against it, page after page."""
    log = stage.log()
    all_ids = ids(log.write([Add(LIST, b"%d" % n) for n in range(6)], now=0))
    ids(log.write([Add(OTHER_LIST, b"x")], now=0))
    found = log.entries(LIST, now=0)
    same([one.id for one in found], all_ids, "ids of entries")
    same([one.parent for one in found], [0, *all_ids[:-1]], "parents of entries")
    same(log.tail(LIST), all_ids[-1], "the tail")
    for reverse in (False, True):
        wanted = all_ids[::-1] if reverse else all_ids
        for limit in (1, 2, 4, 6, None):
            seen: list[int] = []
            while len(seen) <= len(wanted):
                after = seen[-1] if seen else None
                page = log.entries(LIST, after=after, limit=limit, reverse=reverse, now=0)
                if not page:
                    break
                if limit is not None and len(page) > limit:
                    same(len(page), limit, "entries of a page")
                seen += [one.id for one in page]
            same(seen, wanted, f"pages of {limit}, reverse={reverse}")
    same(list(log.entries(LIST, limit=0, now=0)), [], "a page of none")


def an_entry_comes_back_as_it_was_added(stage: Stage) -> None:
    """All that was given with an entry comes back."""
    log = stage.log()
    row = Add(LIST, b"\0x", uid="ü", codec="c", columns={"n": None}, own=b"o", expires=9)
    [id_] = ids(log.write([row], now=3))
    [one] = log.entries(LIST, now=3)
    same((one.id, one.parent, one.uid), (id_, 0, "ü".encode()), "ids")
    same((one.payload, one.codec, one.own), (b"\0x", "c", b"o"), "payload, codec, own")
    same((one.at, one.expires, one.columns), (3, 9, {"n": None}), "times and columns")


def if_present_decides_about_an_entry(stage: Stage) -> None:
    """An addition of a uid that is there replaces that entry, is skipped, or fails."""
    log = stage.log()
    first, _ = ids(log.write([Add(LIST, b"1", uid="u"), Add(LIST, b"2")], now=0))
    row = Add(LIST, b"3", uid=b"u", if_present="skip")
    outcomes_are(log.write([row], now=0), ("present", first))
    conflict(
        log,
        [Put(A, b"x"), Add(LIST, b"3", uid="u", if_present="fail")],
        now=0,
        row=1,
        key=LIST,
        reason="present",
        current=first,
    )
    same(payloads(log, LIST, now=0), [b"1", b"2"], "a list that nothing was added to")
    ids(log.write([Add(LIST, b"3", uid="u")], now=0))
    same(payloads(log, LIST, now=0), [b"2", b"3"], "a list in which an entry was replaced")
    ids(log.write([Add(LIST, b"4", if_present="fail"), Add(LIST, b"5", if_present="skip")], now=0))
    same(payloads(log, LIST, now=0), [b"2", b"3", b"4", b"5"], "entries without a uid")


def a_uid_is_free_again_once_its_entry_is_gone(stage: Stage) -> None:
    """A uid is unique on the path of its list, and nowhere else."""
    log = stage.log()

    def add() -> int:
        [id_] = ids(log.write([Add(LIST, b"u", uid="u", if_present="fail")], now=0))
        return id_

    log.write([RemoveEntries(LIST, [add()])], now=0)
    add()
    log.write([Cut(LIST, 0)], now=0)
    add()
    log.write([RemoveBelow(LIST)], now=0)
    log.erase(ids=[add()])
    add()
    ids(log.write([Add(OTHER_LIST, b"u", uid="u", if_present="fail")], now=0))
    same(payloads(log, LIST, now=0), [b"u"], "the list")


def a_cut_ends_a_list(stage: Stage) -> None:
    """What is behind a cut is gone; what is added follows the entry before it."""
    log = stage.log()
    first, second, third = ids(log.write([Add(LIST, b"%d" % n) for n in range(3)], now=0))
    [_, added] = ids(log.write([Cut(LIST, second), Add(LIST, b"new")], now=0))
    same(payloads(log, LIST, now=0), [b"0", b"1", b"new"], "the list")
    same(log.entries(LIST, now=0)[-1].parent, second, "what the new entry follows")
    same(log.tail(LIST), added, "the tail")
    outcomes_are(log.write([Cut(LIST, added)], now=0), ("nothing", None))
    for gone in (third, added + 9):
        conflict(
            log,
            [Put(A, b"x"), Cut(LIST, gone)],
            now=0,
            row=1,
            key=LIST,
            reason="tail",
            current=added,
        )
    ids(log.write([Cut(LIST, first)], now=0))
    same((payloads(log, LIST, now=0), log.tail(LIST)), ([b"0"], first), "the list and its tail")
    ids(log.write([Cut(LIST, 0)], now=0))
    same((payloads(log, LIST, now=0), log.tail(LIST)), ([], 0), "the empty list and its tail")


def a_conversation_goes_on_elsewhere(stage: Stage) -> None:
    """A list without a space is cut as others are, but what was behind the cut is not removed."""
    log = stage.log()
    first, second = ids(log.write([Add(TALK, b"1"), Add(TALK, b"2", uid="u")], now=0))
    ids(log.write([Put(A, b"of it", sources=[second])], now=0))
    ids(log.write([Cut(TALK, first), Add(TALK, b"3", uid="u", if_present="fail")], now=0))
    same(payloads(log, TALK, now=0), [b"1", b"3"], "the path")
    same(payload(log, A, now=0), b"of it", "what was made from what is off the path")
    log.write([RemoveEntries(TALK, [second])], now=0)
    same(payload(log, A, now=0), None, "the same after that entry was removed")


# --- removals -------------------------------------------------------------------------------------


def a_removed_cell_is_absent(stage: Stage) -> None:
    """`Remove` takes one cell, and nothing if there is none."""
    log = stage.log()
    ids(log.write([Put(A, b"1"), Put(A, b"2"), Put((*A, "below"), b"1"), Put(B, b"1")], now=0))
    ids(log.write([Remove(A)], now=0))
    same((log.get(A, now=0), log.version(A, now=0)), (None, 0), "the cell and its version")
    same(log.count(SPACE, now=0), 2, "cells that are left")
    outcomes_are(log.write([Remove(A), Remove(C)], now=0), ("nothing", None), ("nothing", None))


def a_prefix_is_removed_by_parts(stage: Stage) -> None:
    """`RemoveBelow` takes cells and lists whose first parts are those of the prefix."""
    log = stage.log()
    below: list[tuple[str | bytes, ...]] = [SPACE, A, (*A, "x")]
    beside: list[tuple[str | bytes, ...]] = [("t", b"\xffs2", "a"), ("t",), ELSEWHERE, ("ts",)]
    rows = [Put(key, b"x") for key in (*below, *beside)]
    ids(log.write([*rows, Add((*SPACE, "l"), b"x"), Add(LIST, b"x")], now=0))
    ids(log.write([RemoveBelow(SPACE)], now=0))
    same([log.version(key, now=0) > 0 for key in below], [False] * 3, "cells below the prefix")
    same([log.version(key, now=0) > 0 for key in beside], [True] * 4, "cells beside it")
    same((log.tail((*SPACE, "l")), len(payloads(log, LIST, now=0))), (0, 1), "lists")
    outcomes_are(log.write([RemoveBelow(SPACE)], now=0), ("nothing", None))


def removed_entries_leave_no_gap(stage: Stage) -> None:
    """What was behind a removed entry follows what was before it."""
    log = stage.log()
    all_ids = ids(log.write([Add(LIST, b"%d" % n) for n in range(5)], now=0))
    [other] = ids(log.write([Add(OTHER_LIST, b"x")], now=0))
    ids(log.write([RemoveEntries(LIST, [all_ids[1], all_ids[2], all_ids[4], other])], now=0))
    found = log.entries(LIST, now=0)
    pairs = [(one.payload, one.parent) for one in found]
    same(pairs, [(b"0", 0), (b"3", all_ids[0])], "payloads and parents")
    same((log.tail(LIST), payloads(log, OTHER_LIST, now=0)), (all_ids[3], [b"x"]), "the rest")
    outcomes_are(log.write([RemoveEntries(LIST, [all_ids[1]])], now=0), ("nothing", None))


def what_was_made_from_something_is_removed_with_it(stage: Stage) -> None:
    """A removal takes along what was made from it, and from that, wherever it lies."""
    for how in ("cell", "prefix", "cut", "entry"):
        log = stage.log()
        cell, entry = ids(log.write([Put(A, b"1"), Add(LIST, b"1")], now=0))
        removals: dict[str, Row] = {
            "cell": Remove(A),
            "prefix": RemoveBelow(A),
            "cut": Cut(LIST, 0),
            "entry": RemoveEntries(LIST, [entry]),
        }
        source = cell if how in {"cell", "prefix"} else entry
        [made] = ids(log.write([Put(ELSEWHERE, b"of it", sources=[source])], now=0))
        rows = [Add(OTHER_LIST, b"of that", sources=(made,)), Add(OTHER_LIST, b"own"), Put(B, b"x")]
        ids(log.write(rows, now=0))
        ids(log.write([Put(A, b"2")], now=0))  # what is superseded is a source as well
        ids(log.write([removals[how]], now=0))
        same(log.get(ELSEWHERE, now=0), None, "what was made from what was removed")
        same(payloads(log, OTHER_LIST, now=0), [b"own"], "what was made from that")
        same(payload(log, B, now=0), b"x", "what was made from nothing")


LIST_RULES = (
    entries_come_in_order_by_pages,
    an_entry_comes_back_as_it_was_added,
    if_present_decides_about_an_entry,
    a_uid_is_free_again_once_its_entry_is_gone,
    a_cut_ends_a_list,
    a_conversation_goes_on_elsewhere,
    a_removed_cell_is_absent,
    a_prefix_is_removed_by_parts,
    removed_entries_leave_no_gap,
    what_was_made_from_something_is_removed_with_it,
)
"""Rules about lists and removals."""
