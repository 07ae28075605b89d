"""The rules of two handles on one log, of threads and of processes."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from warmset.errors import Conflict
from warmset.store.conditions import Tail, Version
from warmset.store.rows import Add, Cut, Patch, Put, Remove, RemoveBelow, RemoveEntries
from warmset.testing.log_stage import Broken, conflict, ids, outcomes_are, payload, payloads, same

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.store.rows import Row
    from warmset.testing.log_like import LogLike
    from warmset.testing.log_stage import Stage

SPACE = ("t", b"\xffs")
A, B = ((*SPACE, name) for name in "ab")
LIST = ("t", b"\xffl", "list")
STEPS, KEYS, THREADS = 15, 100, 4


def handles_see_each_other(stage: Stage) -> None:
    """Each call sees what another handle wrote before it, whatever it was."""
    one, other = stage.pair()
    same((other.get(A, now=0), other.tail(LIST)), (None, 0), "an empty log")
    [first] = ids(one.write([Put(A, b"1")], now=0))
    same(other.version(A, now=0), first, "the version that the other handle put")
    ids(other.write([Patch(A, {"n": 1}), Add(LIST, b"1", uid="u")], now=0))
    same(one.get(A, now=0).columns, {"n": 1}, "the columns that the other handle patched")
    [entry] = [added.id for added in one.entries(LIST, now=0)]
    same((one.tail(LIST), other.tail(LIST)), (entry, entry), "the tail, of both handles")
    found = one.write([Add(LIST, b"2", uid="u", if_present="skip")], now=0)
    outcomes_are(found, ("present", entry))
    ids(one.write([Add(LIST, b"2"), RemoveEntries(LIST, [entry])], now=0))
    same(payloads(other, LIST, now=0), [b"2"], "the list after a removal")
    ids(other.write([Cut(LIST, 0), Remove(A)], now=0))
    same((one.tail(LIST), one.count(now=0)), (0, 0), "the log after a cut and a removal")
    ids(one.write([Put(A, b"2"), Put(B, b"2")], now=0))
    other.erase(prefix=A)
    same([payload(one, key, now=0) for key in (A, B)], [None, b"2"], "cells after an erasure")
    ids(other.write([RemoveBelow(SPACE)], now=0))
    one.compact(now=0)
    ids(one.write([Put(A, b"3")], now=0))
    same([payload(other, key, now=0) for key in (A, B)], [b"3", None], "cells after a compaction")


def no_update_is_lost(stage: Stage) -> None:
    """Of two handles that read one version or one tail, one writes; the other has a conflict."""
    one, other = stage.pair()
    ids(one.write([Put(A, b"0"), Add(LIST, b"0")], now=0))
    seen = [(log.version(A, now=0), log.tail(LIST)) for log in (one, other)]
    [version, tail] = ids(
        one.write(
            [Put(A, b"one"), Add(LIST, b"one")],
            expect=[Version(A, seen[0][0]), Tail(LIST, seen[0][1])],
            now=0,
        )
    )
    for condition, key, reason, current in (
        (Version(A, seen[1][0]), A, "version", version),
        (Tail(LIST, seen[1][1]), LIST, "tail", tail),
    ):
        conflict(
            other,
            [Put(A, b"other")],
            expect=[condition],
            now=0,
            row=None,
            key=key,
            reason=reason,
            current=current,
        )
    same(payload(other, A, now=0), b"one", "the cell")


def a_name_is_known_to_every_handle(stage: Stage) -> None:
    """A named batch that one handle wrote is not written again by another one."""
    one, other = stage.pair()
    first = one.write([Add(LIST, b"1")], once="name", now=0)
    again = other.write([Add(LIST, b"1")], once="name", now=0)
    same([outcome.id for outcome in again], [outcome.id for outcome in first], "ids")
    same(payloads(other, LIST, now=0), [b"1"], "the list")


def threads_lose_no_update(stage: Stage) -> None:
    """Threads that add one to a cell, each on the version that it read, count every step."""
    pair = stage.raw_pair()
    pair[0].write([Put(A, b"0")], now=0)

    def work(log: LogLike) -> None:
        done = 0
        # A write of another thread refuses one of this one's at most.
        for _ in range(STEPS * THREADS):
            cell, tail = log.get(A, now=0), log.tail(LIST)
            if cell is None:
                raise Broken("a cell that is never removed was absent")
            rows: list[Row] = [Put(A, b"%d" % (int(cell.payload) + 1)), Add(LIST, b"")]
            try:
                log.write(rows, expect=[Version(A, cell.version), Tail(LIST, tail)], now=0)
            except Conflict:
                continue
            done += 1
            if done == STEPS:
                return
        raise Broken("a condition did not hold though nobody else wrote")

    _together([partial(work, log) for log in pair * (THREADS // 2)])
    same(payload(pair[0], A, now=0), b"%d" % (STEPS * THREADS), "the count")
    same(len(pair[1].entries(LIST, now=0)), STEPS * THREADS, "entries")


def threads_put_each_key_once(stage: Stage) -> None:
    """Of several threads that put a key if it is absent, one does, and so with a uid."""
    pair = stage.raw_pair()
    won: list[int] = []

    def work(log: LogLike, keys: list[int]) -> None:
        won.extend(_put_once(log, keys))

    orders = [list(range(KEYS))[::step] for step in (1, -1)] * (THREADS // 2)
    logs = pair * (THREADS // 2)
    calls = zip(logs, orders, strict=True)
    _together([partial(work, log, order) for log, order in calls])
    same(sorted(won), list(range(KEYS)), "keys that were written")
    same(pair[0].count(SPACE, now=0), KEYS, "cells")
    same(len(pair[1].entries(LIST, now=0)), KEYS, "entries")


def processes_put_each_key_once(stage: Stage) -> None:
    """Of two processes that put a key if it is absent, one does; the log is pickled to them."""
    log, _ = stage.raw_pair()
    sent = pickle.dumps(log)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        orders = [list(range(KEYS))[::step] for step in (1, -1)]
        won = pool.starmap(_in_process, [(sent, order) for order in orders])
    same(sorted(won[0] + won[1]), list(range(KEYS)), "keys that were written")
    same(log.count(SPACE, now=0), KEYS, "cells")
    same(len(log.entries(LIST, now=0)), KEYS, "entries")


def _in_process(sent: bytes, keys: list[int]) -> list[int]:
    return _put_once(pickle.loads(sent), keys)  # noqa: S301 - from the parent


def _put_once(log: LogLike, keys: list[int]) -> list[int]:
    """Put keys that are absent, and return which this handle put."""
    won = []
    for key in keys:
        [put] = log.write([Put((*SPACE, str(key)), b"", if_present="skip")], now=0)
        log.write([Add(LIST, b"", uid=str(key), if_present="skip")], now=0)
        if put.status == "written":
            won.append(key)
    return won


def _together(calls: list[Callable[[], Any]]) -> None:
    """Run calls in threads, and raise what the first of them raised."""
    raised: list[BaseException] = []
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> None:
        ready.wait()
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


SHARED_RULES = (
    handles_see_each_other,
    no_update_is_lost,
    a_name_is_known_to_every_handle,
    threads_lose_no_update,
    threads_put_each_key_once,
)
"""Rules about two handles on one log; those about threads are about one handle, too."""

THREAD_RULES = (threads_lose_no_update, threads_put_each_key_once)
"""Rules that one handle must keep as well."""
