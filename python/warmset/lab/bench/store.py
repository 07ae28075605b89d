"""Cases of the cold store: durable appends, one or a thousand at a time, and reads by id."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from warmset.lab.bench.case import Case, Contest, expect
from warmset.lab.bench.stores import KILOBYTE, Lmdb, Ours, RawFile, Sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from warmset.lab.bench.case import Call
    from warmset.lab.bench.stores import Store

BATCH: Final = 1_000
READ: Final = 20_000
"""Records in the stores that are read from."""

RAW: Final = "write and sync"


def payloads() -> list[bytes]:
    """Return a thousand different kilobytes that no store can compress."""
    random = Random(1)  # noqa: S311 - not for secrets
    return [random.randbytes(KILOBYTE) for _ in range(BATCH)]


@contextmanager
def _stores(
    place: Path, contest: Contest, drive: Callable[[str, Store], Call], *, raw: bool
) -> Iterator[dict[str, Store]]:
    """Open the stores that are asked for; `drive` makes the call of each, by name and store."""
    opened: dict[str, Store] = {}
    with ExitStack() as stack:

        def ready(name: str, make: Callable[[], Store]) -> Call:
            store = make()
            stack.callback(store.close)
            opened[name] = store
            return drive(name, store)

        if contest.wanted is None or "warmset" in contest.wanted:
            contest.ours(ready("warmset", lambda: Ours(place / "store", segment_bytes=8 << 20)))
        contest.peer("SQLite", lambda: ready("SQLite", lambda: Sqlite(place / "base")))
        contest.peer("LMDB", lambda: ready("LMDB", lambda: Lmdb(place / "lmdb")))
        if raw:
            contest.peer(RAW, lambda: ready(RAW, lambda: RawFile(place / "raw")))
        yield opened


@contextmanager
def appends(at_once: int, place: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Append durable records, so many at once; afterwards each store is counted and read."""
    given = payloads()
    made: dict[str, int] = {}

    def drive(name: str, store: Store) -> Call:
        made[name] = 0

        def one(at: int) -> None:
            store.append(given[at % BATCH])
            made[name] += 1

        def many(_: int) -> None:
            store.append_all(given)
            made[name] += BATCH

        return one if at_once == 1 else many

    contest = Contest(wanted, of="mean", items=at_once)
    with _stores(place, contest, drive, raw=True) as stores:

        def right() -> None:
            for name, store in stores.items():
                total = made[name]
                expect(store.count == total, f"{name} holds {store.count} records of {total}")
                for at in range(0, total, max(1, total // 97)):
                    expect(store.get(at + 1) == given[at % BATCH], f"record {at + 1} of {name}")

        contest.check = right
        yield contest


@contextmanager
def reads(place: Path, wanted: Collection[str] | None) -> Iterator[Contest]:
    """Read records by id, here and there; each is compared afterwards."""
    given = payloads()
    ids = [1 + at * 7919 % READ for at in range(5_000)]

    def drive(_: str, store: Store) -> Call:
        for _part in range(READ // BATCH):
            store.append_all(given)
        return lambda at: store.get(ids[at % len(ids)])

    contest = Contest(wanted)
    with _stores(place, contest, drive, raw=False) as stores:

        def right() -> None:
            for name, store in stores.items():
                expect(store.count == READ, f"{name} holds {store.count} records of {READ}")
                for seq in ids[:999]:
                    expect(store.get(seq) == given[(seq - 1) % BATCH], f"record {seq} of {name}")

        right()
        contest.check = right
        yield contest


CASES: Final = (
    Case(
        name="append",
        group="store",
        what="one durable append of 1 KB",
        peers=("SQLite", "LMDB", RAW),
        open=partial(appends, 1),
    ),
    Case(
        name="append-1000",
        group="store",
        what=f"one of {BATCH:,} records of 1 KB, made durable together",
        peers=("SQLite", "LMDB", RAW),
        open=partial(appends, BATCH),
    ),
    Case(
        name="read",
        group="store",
        what=f"one read of 1 KB by id, of {READ:,}",
        peers=("SQLite", "LMDB"),
        open=reads,
    ),
)
