"""The cold store against SQLite, LMDB and a plain file: appends, reads, opening, room on the disk.

    taskset -c 0 python -m benches.python.store.race --json benches/results/store-<cpu>-<date>.json

All in one process, in turns of a few calls, on one core (it pins itself if nobody did) and on one
disk. Payloads are random bytes of 1,024. Each contest reads back what was written and counts it. A
figure of an append is a mean, since checkpoints and new segments are rare and dear, but the median
of several: so one disturbance from outside spoils one of them. It takes one to two minutes, and
4 GB of the disk while it opens stores of a million records.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, TypeVar

# One thread, before numpy starts more.
from benches.python.setting import file_system, setting

# isort: split
from benches.python import peers
from benches.python.race import Result, check, race, report
from benches.python.store.peers import Lmdb, LmdbPuts, Raw, Sqlite, Warmset, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.python.race import Call

    Store = Warmset | Raw | Sqlite | Lmdb
    Opened = TypeVar("Opened", bound=Store)

PAYLOADS = [os.urandom(peers.KILOBYTE) for _ in range(5_000)]
BATCH = 1_000


def paced(name: str, calls: dict[str, Call], records: int, **turns: int) -> Result:
    """Race appends: the median of the means of many calls each, of 20 where a call is a batch."""
    block = 1_000 if records == 1 else 20
    medians: list[float] = []

    def of(times: list[float]) -> float:
        medians.append(median(times))
        return median(fmean(times[at : at + block]) for at in range(0, len(times), block))

    result = race(name, calls, of=of, **turns)
    for (one, micros), middle in zip(result.microseconds.items(), medians, strict=True):
        result.notes[f"records/s of {one}"] = round(records * 1e6 / micros)
        result.notes[f"median call of {one}"] = middle
    return result


def close(stack: ExitStack, store: Opened) -> Opened:
    """Close a store in the end, and take its files away: the disk is small."""

    def done() -> None:
        store.close()
        shutil.rmtree(store.path, ignore_errors=True)
        for one in store.path.parent.glob(store.path.name + "*"):
            one.unlink()

    stack.callback(done)
    return store


def held(store: Store, at: int) -> bytes:
    """Read the record that was appended as the at-th, counted from 0."""
    if isinstance(store, Raw):
        with store.path.open("rb") as file:
            file.seek(at * peers.KILOBYTE)
            return file.read(peers.KILOBYTE)
    return store.get(at + 1)


def verify(stores: dict[str, Store], count: int, what: str) -> None:
    """Compare counts, and records here and there with what was written."""
    for name, store in stores.items():
        check(store.count == count, f"{what}: {name} holds {store.count}, not {count}")
        for at in range(0, count, max(1, count // 997)):
            check(held(store, at) == PAYLOADS[at % len(PAYLOADS)], f"{what}: {name}, record {at}")


def appends(name: str, stores: dict[str, Store], rounds: int, turn: int) -> Iterator[Result]:
    """Race appends one by one, then of 1,000 together, into the same stores."""
    many = len(PAYLOADS)
    calls: dict[str, Call] = {
        one: lambda at, store=store: store.append(PAYLOADS[at % many])
        for one, store in stores.items()
    }
    result = paced(f"{name} append", calls, 1, rounds=rounds, turn=turn)
    total = rounds * (turn + 1)
    verify(stores, total, name)
    yield result

    # So that a batch begins where the payloads do.
    for store in stores.values():
        store.append_all([PAYLOADS[at % many] for at in range(total, total + -total % many)])
    total += -total % many
    groups = [PAYLOADS[at : at + BATCH] for at in range(0, many, BATCH)]
    calls = {
        one: lambda at, store=store: store.append_all(groups[at % len(groups)])
        for one, store in stores.items()
    }
    result = paced(f"{name} append of {BATCH:,}", calls, BATCH, rounds=30, turn=4)
    verify(stores, total + 30 * 5 * BATCH, f"{name} batches")
    yield result


def durable(place: Path) -> Iterator[Result]:
    """Race appends that survive a loss of power."""
    with ExitStack() as stack:
        stores: dict[str, Store] = {
            "warmset": close(stack, Warmset(place / "store")),
            "write + fdatasync": close(stack, Raw(place / "raw")),
            "SQLite FULL": close(stack, Sqlite(place / "base")),
            "LMDB": close(stack, Lmdb(place / "lmdb")),
        }
        yield from appends("durable", stores, rounds=300, turn=50)


def unsynced(place: Path) -> Iterator[Result]:
    """Race appends that survive a kill, with the store shared and with it to oneself."""
    ours = {"durability": "os"}
    loose = {"synchronous": "NORMAL"}
    for mode in ("shared", "exclusive"):
        with ExitStack() as stack:
            stores: dict[str, Store] = {
                "warmset": close(stack, Warmset(place / "store", mode=mode, **ours)),
                "write": close(stack, Raw(place / "raw", sync=False)),
                "SQLite NORMAL": close(stack, Sqlite(place / "base", **loose)),
                "LMDB nosync": close(stack, Lmdb(place / "lmdb", sync=False)),
                "LMDB nosync, put by put": close(stack, LmdbPuts(place / "puts", sync=False)),
            }
            if mode == "exclusive":
                alone = Sqlite(place / "alone", locking="EXCLUSIVE", **loose)
                stores["SQLite NORMAL, exclusive"] = close(stack, alone)
            yield from appends(f"unsynced {mode}", stores, rounds=200, turn=100)


def reading(place: Path) -> Iterator[Result]:
    """Race warm reads by id out of 50,000 records; room on the disk beside it."""
    count = 50_000
    with ExitStack() as stack:
        ours = close(stack, Warmset(place / "store", durability="os", segment_bytes=16 << 20))
        stores: dict[str, Store] = {
            "warmset": ours,
            "SQLite": close(stack, Sqlite(place / "base")),
            "LMDB": close(stack, Lmdb(place / "lmdb")),
        }
        for store in stores.values():
            for _ in range(count // len(PAYLOADS)):
                store.append_all(PAYLOADS)
        other = Warmset(place / "store", mode="read", read="pread")
        stack.callback(other.close)
        alone = {"warmset": stores["warmset"], "warmset pread": other}
        every = alone | stores
        verify(every, count, "read")
        ids = [1 + at * 7919 % 42_000 for at in range(5_000)]  # in sealed segments
        calls: dict[str, Call] = {
            one: lambda at, get=store.get: get(ids[at % 5_000]) for one, store in every.items()
        }
        read = stack.enter_context(stores["LMDB"].base.begin())
        names = [at.to_bytes(8, "big") for at in ids]
        calls["LMDB, one transaction for all"] = lambda at: read.get(names[at % 5_000])
        result = race("read 1 KB by id", calls, rounds=60, turn=300)
        ours.store.sync()
        for one, store in stores.items():
            result.notes[f"bytes a record, {one}"] = size(store.path) / count
        yield result


def opening(place: Path, count: int) -> Iterator[Result]:
    """Race opening a store of so many records, with a read of one and closing."""
    makers: dict[str, Callable[[], Store]] = {
        "warmset": lambda: Warmset(place / "store", durability="os"),
        "SQLite": lambda: Sqlite(place / "base", synchronous="NORMAL", make=made),
        "LMDB": lambda: Lmdb(place / "lmdb", sync=False),
    }
    made = True
    for make in makers.values():
        with ExitStack() as stack:
            store = make()
            stack.callback(store.close)
            for _ in range(0, count, len(PAYLOADS)):
                store.append_all(PAYLOADS)
    made = False
    alone: list[float] = []

    def once(at: int, make: Callable[[], Store]) -> None:
        begin = time.perf_counter_ns()
        store = make()
        if isinstance(store, Warmset):
            alone.append((time.perf_counter_ns() - begin) / 1e3)
        seq = 1 + at * 7919 % count
        check(store.get(seq) == PAYLOADS[(seq - 1) % len(PAYLOADS)], "record after opening")
        store.close()

    calls = {one: lambda at, make=make: once(at, make) for one, make in makers.items()}
    result = race(f"open {count:,}, read one, close", calls, rounds=12, turn=4)
    result.notes["µs of opening alone"] = median(alone)
    yield result


def contests(place: Path, only: list[str], count: int) -> Iterator[Result]:
    """Hold the contests that were asked for, one after the other."""
    every = {"durable": durable, "unsynced": unsynced, "read": reading,
             "open": lambda at: opening(at, count)}  # fmt: skip
    for name in only or every:
        (place / name).mkdir()
        yield from every[name](place / name)


def main() -> None:
    """Run the contests, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--only", nargs="*", default=[], help="durable, unsynced, read, open")
    parser.add_argument("--records", type=int, default=1_000_000, help="how many to open")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found, begin = setting(("lmdb",)), time.perf_counter()
    found["sqlite"] = sqlite3.sqlite_version
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        found["file system"] = file_system(Path(place))
        print(json.dumps(found, indent=1, ensure_ascii=False), file=sys.stderr)
        found_all = contests(Path(place), options.only, options.records)
        report(found_all, found, begin, options.json)


if __name__ == "__main__":
    main()
