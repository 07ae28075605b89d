"""The rules of cells and batches, one by one."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from warmset.errors import Conflict, InvalidInputError, NotFound
from warmset.store.conditions import Tail, Version
from warmset.store.rows import (
    Add,
    Cut,
    Patch,
    Put,
    Remove,
    RemoveBelow,
    RemoveEntries,
)
from warmset.testing.log_stage import (
    Broken,
    conflict,
    ids,
    last_parts,
    outcomes_are,
    payload,
    payloads,
    refused,
    same,
)

if TYPE_CHECKING:
    from warmset.testing.log_stage import Stage

SPACE = ("t", b"\xffs")
A, B, C, D = ((*SPACE, name) for name in "abcd")
LIST, OTHER_LIST = ("t", b"\xffl", "list"), ("t", b"\xffl", "other")
TALK = ("t", "conversation")
ELSEWHERE = ("u", b"\xffs", "a")


# --- cells ----------------------------------------------------------------------------------------


def a_cell_comes_back_as_it_was_put(stage: Stage) -> None:
    """Payload, codec, bytes beside it, columns, times and ids are those that were given."""
    log = stage.log()
    same(log.get(A, now=0), None, "a cell that was never put")
    same(log.version(A, now=0), 0, "its version")
    raw = bytes(range(256))
    row = Put(A, raw, codec="c", own=b"\0own", columns={"n": 1}, expires=9)
    [id_] = ids(log.write([row, Put(B, b"")], now=5)[:1])
    cell = log.get(A, now=5)
    same((cell.payload, cell.codec, cell.own), (raw, "c", b"\0own"), "payload, codec, own")
    same((cell.key, cell.version, cell.born), ((b"t", b"\xffs", b"a"), id_, id_), "key and ids")
    same((cell.at, cell.born_at, cell.expires), (5, 5, 9), "times")
    same((cell.columns, log.version(A, now=5)), ({"n": 1}, id_), "columns and version")
    bare = log.get(B, now=5)
    same((bare.payload, bare.codec, bare.own, bare.expires), (b"", None, b"", None), "what is bare")


def the_newest_version_wins(stage: Stage) -> None:
    """A put takes the place of the version before it; the cell is as old as its first one."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1", columns={"n": 1}, codec="c")], now=5))
    [second] = ids(log.write([Put(A, b"2")], now=7))
    cell = log.get(A, now=8)
    same((cell.payload, cell.columns, cell.codec), (b"2", {}, None), "payload, columns, codec")
    same((cell.version, cell.at), (second, 7), "version and time")
    same((cell.born, cell.born_at), (first, 5), "first version and its time")
    log.write([Remove(A)], now=8)
    [third] = ids(log.write([Put(A, b"3")], now=9))
    same(log.get(A, now=9).born, third, "first version after a removal")


def if_present_decides_about_a_cell(stage: Stage) -> None:
    """A put replaces, is skipped, or fails with its batch."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1", if_present="fail")], now=0))
    outcomes_are(log.write([Put(A, b"2", if_present="skip")], now=0), ("present", first))
    same(payload(log, A, now=0), b"1", "a cell whose put was skipped")
    conflict(
        log,
        [Put(B, b"x"), Put(A, b"2", if_present="fail")],
        now=0,
        row=1,
        key=A,
        reason="present",
        current=first,
    )
    same(payload(log, A, now=0), b"1", "a cell whose put failed")
    ids(log.write([Put(A, b"3", if_present="replace")], now=0))
    ids(log.write([Put(B, b"3", if_present="skip")], now=0))
    same([payload(log, key, now=0) for key in (A, B)], [b"3", b"3"], "payloads")


def a_patch_states_all_columns_and_expiry(stage: Stage) -> None:
    """A patch leaves payload and version, and what it lacks is gone; a put voids it."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1", columns={"a": 1, "b": 2}, expires=9)], now=0))
    ids(log.write([Patch(A, {"b": 3}, version=first)], now=1))
    cell = log.get(A, now=100)
    if cell is None:
        raise Broken("a cell whose patch has no expiry is absent")
    same((cell.payload, cell.version, cell.at), (b"1", first, 0), "payload, version and time")
    same((cell.columns, cell.expires), ({"b": 3}, None), "columns and expiry")
    ids(log.write([Patch(A, {}, ttl=timedelta(microseconds=5))], now=10))
    same([log.version(A, now=at) for at in (14, 15)], [first, 0], "version before and at expiry")
    ids(log.write([Put(A, b"2", columns={"c": 1})], now=11))
    same((log.get(A, now=99).columns, payload(log, A, now=99)), ({"c": 1}, b"2"), "after a put")


def a_patch_needs_its_cell(stage: Stage) -> None:
    """A patch of an absent cell raises `NotFound`, one of another version a conflict."""
    log = stage.log()
    [first, _] = ids(log.write([Put(A, b"1"), Put(B, b"1", expires=5)], now=0))
    for key in (B, C):
        absent = [Put(D, b"x"), Patch(key, {})]
        refused(NotFound, log.write, absent, now=5)
    conflict(
        log,
        [Put(D, b"x"), Patch(A, {"n": 1}, version=first + 9)],
        now=0,
        row=1,
        key=A,
        reason="version",
        current=first,
    )
    same((log.get(D, now=0), log.get(A, now=0).columns), (None, {}), "what was not written")


# --- batches --------------------------------------------------------------------------------------


def rows_apply_in_order(stage: Stage) -> None:
    """A later row of a batch sees what an earlier one did."""
    log = stage.log()
    ids(log.write([Put(A, b"old")], now=0))
    log.write([Remove(A), Put(A, b"put", if_present="fail")], now=0)
    same(payload(log, A, now=0), b"put", "a removal and then a put")
    log.write([Put(A, b"gone"), Remove(A)], now=0)
    same(payload(log, A, now=0), None, "a put and then a removal")
    log.write([Put(A, b"1"), Put(A, b"2"), Patch(A, {"n": 1})], now=0)
    cell = log.get(A, now=0)
    same((cell.payload, cell.columns), (b"2", {"n": 1}), "two puts and a patch")
    rows = [Add(LIST, b"1", uid="u"), Add(LIST, b"2", uid="u", if_present="skip")]
    first, second = log.write(rows, now=0)
    same((second.status, second.id), ("present", first.id), "an addition of a uid just added")
    log.write([Add(LIST, b"3"), Cut(LIST, first.id or 0), Add(LIST, b"4")], now=0)
    same(payloads(log, LIST, now=0), [b"1", b"4"], "an addition, a cut and an addition")
    log.write([Put((*A, "x"), b""), RemoveBelow(SPACE), Put(B, b"new")], now=0)
    same(last_parts(log.scan(SPACE, now=0)), [b"b"], "a put, a removal of all, and a put")


def a_batch_is_written_whole_or_not_at_all(stage: Stage) -> None:
    """Where one row fails, no row of its batch is seen, whatever it is."""
    log = stage.log()
    first, second = ids(log.write([Add(LIST, b"1"), Add(LIST, b"2")], now=0))
    [version] = ids(log.write([Put(A, b"1", columns={"n": 1})], now=0))
    rows = [
        Put(B, b"x"),
        Add(LIST, b"3"),
        Patch(A, {"n": 2}),
        Cut(LIST, first),
        Remove(A),
        RemoveEntries(LIST, [first]),
        RemoveBelow(("t",)),
        Put(A, b"x"),
        Put(A, b"y", if_present="fail"),
    ]
    for end in (Put(A, b"y", if_present="fail"), Patch(C, {})):
        with suppress(Conflict, NotFound):
            log.write([*rows[:-1], end], now=0)
    cell = log.get(A, now=0)
    same((cell.version, cell.columns) if cell else None, (version, {"n": 1}), "the cell")
    same(payloads(log, LIST, now=0), [b"1", b"2"], "the list")
    same((log.tail(LIST), log.get(B, now=0)), (second, None), "the tail and another cell")


def a_version_is_expected(stage: Stage) -> None:
    """`Version` holds for the newest version, 0 for an absent cell; else there is a conflict."""
    log = stage.log()
    [first] = ids(log.write([Put(A, b"1")], expect=[Version(A, 0)], now=0))
    [second] = ids(log.write([Put(A, b"2")], expect=[Version(A, first)], now=0))
    for wrong in (0, first, second + 9):
        conflict(
            log,
            [Put(A, b"3")],
            expect=[Version(A, wrong)],
            now=0,
            row=None,
            key=A,
            reason="version",
            current=second,
        )
    conflict(
        log,
        [Put(A, b"3")],
        expect=[Version(A, second), Version(B, 7)],
        now=0,
        row=None,
        key=B,
        reason="version",
        current=None,
    )
    same(payload(log, A, now=0), b"2", "a cell whose condition did not hold")


def a_tail_is_expected(stage: Stage) -> None:
    """`Tail` holds for the last entry of a list, 0 for an empty one; else there is a conflict."""
    log = stage.log()
    [first] = ids(log.write([Add(LIST, b"1")], expect=[Tail(LIST, 0)], now=0))
    [second] = ids(log.write([Add(LIST, b"2")], expect=[Tail(LIST, first)], now=0))
    for wrong in (0, first, second + 9):
        conflict(
            log,
            [Put(A, b"x")],
            expect=[Tail(LIST, wrong)],
            now=0,
            row=None,
            key=LIST,
            reason="tail",
            current=second,
        )
    log.write([Cut(LIST, 0)], now=0)
    conflict(
        log,
        [Put(A, b"x")],
        expect=[Tail(LIST, second)],
        now=0,
        row=None,
        key=LIST,
        reason="tail",
        current=None,
    )
    same((payloads(log, LIST, now=0), log.get(A, now=0)), ([], None), "what was not written")


def conditions_are_judged_before_the_first_row(stage: Stage) -> None:
    """`expect=` is about what was there before the batch, also where no row is about it."""
    log = stage.log()
    ids(log.write([Put(A, b"1")], expect=[Version(A, 0), Tail(LIST, 0)], now=0))
    version = log.version(A, now=0)
    rows = [Remove(A), Put(A, b"2"), Add(LIST, b"1")]
    log.write(rows, expect=[Version(A, version), Tail(LIST, 0), Version(B, 0)], now=0)
    same(payload(log, A, now=0), b"2", "a cell whose condition held")
    conflict(
        log,
        [],
        expect=[Version(A, version)],
        now=0,
        row=None,
        key=A,
        reason="version",
        current=log.version(A, now=0),
    )


def a_named_batch_is_written_once(stage: Stage) -> None:
    """A repeated batch changes nothing and gets the first answer, without its conditions."""
    log = stage.log()
    rows = [Put(A, b"1"), Add(LIST, b"1"), Put(A, b"2", if_present="skip"), Remove(C)]
    first = log.write(rows, once="name", expect=[Tail(LIST, 0)], now=0)
    wanted = [(one.status, one.id) for one in first]
    log.write([Put(A, b"3")], now=0)
    outcomes_are(log.write(rows, once=b"name", expect=[Tail(LIST, 0)], now=1), *wanted)
    same((payload(log, A, now=1), payloads(log, LIST, now=1)), (b"3", [b"1"]), "what is there")
    ids(log.write([Add(LIST, b"1")], once="other name", now=1))
    same(payloads(log, LIST, now=1), [b"1", b"1"], "a list after a batch of another name")


def other_rows_by_a_known_name_are_a_conflict(stage: Stage) -> None:
    """A name is for one content, belongs to one tenant and space, and is known for a day."""
    log = stage.log()
    day = 24 * 60 * 60 * 1_000_000
    ids(log.write([Put(A, b"1")], once="name", now=0))
    for other in ([Put(A, b"2")], [Put(A, b"1"), Put(B, b"1")], [Put(A, b"1", columns={"n": 1})]):
        error = refused(Conflict, log.write, other, once="name", now=day - 1)
        same((error.row, error.reason), (None, "once"), "row and reason of the conflict")
    same(payload(log, A, now=0), b"1", "the cell")
    ids(log.write([Put(ELSEWHERE, b"2")], once="name", now=0))
    ids(log.write([Put(A, b"2")], once="name", now=day))
    same(payload(log, A, now=day), b"2", "the cell after a day")


def what_is_no_input_is_refused(stage: Stage) -> None:
    """Bad arguments raise `InvalidInputError`, and nothing of their batch is written."""
    log = stage.log()
    nan = float("nan")
    for row in (
        Put((), b""),
        Put(B, b"", columns={"n": nan}),
        Put(B, b"", columns={"n": 2**63}),
        Put(B, b"", ttl=0),
        Put(B, b"", ttl=1, expires=1),
        Put(B, b"", if_present="never"),  # type: ignore[arg-type]
        Add(LIST, b"", columns={"n": [nan]}),
    ):
        rows = [Put(A, b"x"), row]
        refused(InvalidInputError, log.write, rows, now=0)
    wrong: tuple[Any, ...] = ({"n": nan}, {"n": {"nearly": 1}}, {"n": {}}, {"$nor": []})
    for where in wrong:
        refused(InvalidInputError, log.scan, where=where)
    erasures: tuple[Any, ...] = ({}, {"prefix": A, "ids": [1]}, {"prefix": ()})
    for options in erasures:
        refused(InvalidInputError, log.erase, **options)
    refused(InvalidInputError, log.write, [], once="name")
    refused(InvalidInputError, log.write, [Put(A, b"")], once="")
    same(log.count(now=0), 0, "cells that were written")


RULES = (
    a_cell_comes_back_as_it_was_put,
    the_newest_version_wins,
    if_present_decides_about_a_cell,
    a_patch_states_all_columns_and_expiry,
    a_patch_needs_its_cell,
    rows_apply_in_order,
    a_batch_is_written_whole_or_not_at_all,
    a_version_is_expected,
    a_tail_is_expected,
    conditions_are_judged_before_the_first_row,
    a_named_batch_is_written_once,
    other_rows_by_a_known_name_are_a_conflict,
    what_is_no_input_is_refused,
)
"""Rules about cells and batches."""
