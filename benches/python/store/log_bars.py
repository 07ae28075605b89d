"""The bars of the log, each figure beside what it should hold: in Rust and through Python.

    python -m benches.python.store.log_bars --json benches/results/log-<cpu>-<date>.json

The figures of the core come from `benches/rust/log`, which is built first. Calls run on one core;
what two handles or two processes do to each other runs on all. Then the same cells and lists
through Python, in turns with SQLite in this process, on one core and one disk. Every answer is
checked. Times are those of the processor, except where somebody is waited for. It takes about five
minutes and 2 GB of the disk; `--only put lists` leaves the rest out, `--only python` the core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import ROOT, file_system, setting

# isort: split
from benches.python.race import check, line, race
from warmset.native import Add, ColdStore, Log, Put, Remove, RemoveEntries, Tail, space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.python.race import Result

MEMORY = Path("/dev/shm")  # noqa: S108 - files without a disk, where nobody waits for a sync
ALONE = ["open", "remove", "put", "look", "filter", "lists"]
TOGETHER = ["rewrites", "absent"]
EVERY = [*TOGETHER, *ALONE, "erase", "python"]
CELLS, SPACES, ENTRIES = 100_000, 100, 10_000
CLOCK = time.thread_time_ns
CARGO = ["cargo", "bench", "-q", "-p", "warmset-core", "--bench", "log", "--"]


def pin(cores: set[int]) -> None:
    """Let this process, and those that it starts, run on these cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def core(place: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """Run some lines of the bench of the core; it asserts what its calls answer."""
    command = [*CARGO, "--place", str(place), *names]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as running:
        for said in running.stdout or ():
            yield json.loads(said)
    check(running.returncode == 0, " ".join(command))


class Ours:
    """Cells and lists in a log."""

    def __init__(self, place: Path) -> None:
        self.store = ColdStore.open(place / "store", durability="os")
        self.log = Log(self.store)

    @staticmethod
    def _key(at: int) -> tuple[str | bytes, ...]:
        return ("acme", space(f"space {at % SPACES:03}"), f"cell {at // SPACES:06}")

    @staticmethod
    def _list(name: str) -> tuple[str | bytes, ...]:
        return ("acme", space("events"), name)

    def put_all(self, cells: range, payload: bytes) -> None:
        for begin in range(cells.start, cells.stop, 1_000):
            rows = range(begin, min(begin + 1_000, cells.stop))
            self.log.write([self._put(at, payload) for at in rows])

    def _put(self, at: int, payload: bytes) -> Put:
        columns = {"kind": f"kind {at // SPACES % 10}", "score": at // SPACES}
        return Put(self._key(at), payload, columns=columns)

    def put(self, at: int, payload: bytes) -> None:
        self.log.write([self._put(at, payload)])

    def get(self, at: int) -> bytes | None:
        cell = self.log.get(self._key(at))
        return cell.payload if cell else None

    def version(self, at: int) -> int:
        return self.log.version(self._key(at))

    def remove(self, at: int) -> None:
        self.log.write([Remove(self._key(at))])

    def spaces(self) -> int:
        return len(self.log.spaces(("acme",), depth=2)) - 2

    def fill_among(self) -> None:
        for begin in range(0, ENTRIES, 1_000):
            self.log.write(
                [
                    Put(
                        ("acme", space("among"), f"{at:06}"),
                        b"payload",
                        columns={"kind": f"kind {at % 10}", "score": at},
                    )
                    for at in range(begin, begin + 1_000)
                ]
            )

    def filter(self) -> int:
        where = {"kind": "kind 3", "score": {"lt": 1_000}}
        return len(self.log.scan(("acme", space("among")), where=where, limit=ENTRIES))

    def add_all(self, name: str, payloads: list[bytes]) -> None:
        key = self._list(name)
        self.log.write([Add(key, payload) for payload in payloads])

    def load(self, name: str) -> list[bytes]:
        entries = self.log.entries(self._list(name), limit=2 * ENTRIES)
        return [entry.payload for entry in entries]

    def pop(self, name: str) -> bytes:
        key = self._list(name)
        [last] = self.log.entries(key, reverse=True, limit=1)
        self.log.write([RemoveEntries(key, [last.id])], expect=[Tail(key, last.id)])
        return last.payload

    def close(self) -> None:
        self.store.close()


class Sqlite:
    """The same in tables, without a sync for each transaction, as ours."""

    def __init__(self, place: Path) -> None:
        self.base = sqlite3.connect(place / "base", isolation_level=None)
        cells = "space text, name text, version integer, kind text, score integer, payload blob"
        for said in (
            "pragma journal_mode = wal",
            "pragma synchronous = normal",
            f"create table cells ({cells}, primary key (space, name)) without rowid",
            "create table entries (id integer primary key autoincrement, list text, payload blob)",
            "create index by_list on entries (list, id)",
        ):
            self.base.execute(said)
        self.next = 0

    def _row(self, at: int, payload: bytes) -> tuple[object, ...]:
        self.next += 1
        name = f"cell {at // SPACES:06}"
        kind = f"kind {at // SPACES % 10}"
        return (f"space {at % SPACES:03}", name, self.next, kind, at // SPACES, payload)

    def put_all(self, cells: range, payload: bytes) -> None:
        self._insert([self._row(at, payload) for at in cells])

    def _insert(self, rows: list[tuple[object, ...]]) -> None:
        self.base.execute("begin immediate")
        self.base.executemany("insert or replace into cells values (?, ?, ?, ?, ?, ?)", rows)
        self.base.execute("commit")

    def put(self, at: int, payload: bytes) -> None:
        self.base.execute(
            "insert or replace into cells values (?, ?, ?, ?, ?, ?)", self._row(at, payload)
        )

    def _one(self, column: str, at: int) -> Any:
        said = f"select {column} from cells where space = ? and name = ?"  # noqa: S608 - our own words
        key = (f"space {at % SPACES:03}", f"cell {at // SPACES:06}")
        found = self.base.execute(said, key).fetchone()
        return found[0] if found else None

    def get(self, at: int) -> bytes | None:
        return self._one("payload", at)

    def version(self, at: int) -> int:
        return self._one("version", at) or 0

    def remove(self, at: int) -> None:
        key = (f"space {at % SPACES:03}", f"cell {at // SPACES:06}")
        self.base.execute("delete from cells where space = ? and name = ?", key)

    def spaces(self) -> int:
        said = "select distinct space from cells where space <> 'among'"
        return len(self.base.execute(said).fetchall())

    def fill_among(self) -> None:
        self._insert(
            [("among", f"{at:06}", at, f"kind {at % 10}", at, b"payload") for at in range(ENTRIES)]
        )

    def filter(self) -> int:
        said = (
            "select name, version, kind, score from cells where space = 'among'"
            " and kind = 'kind 3' and score < 1000 order by name"
        )
        return len(self.base.execute(said).fetchall())

    def add_all(self, name: str, payloads: list[bytes]) -> None:
        self.base.execute("begin immediate")
        rows = ((name, payload) for payload in payloads)
        self.base.executemany("insert into entries (list, payload) values (?, ?)", rows)
        self.base.execute("commit")

    def load(self, name: str) -> list[bytes]:
        said = "select payload from entries where list = ? order by id"
        return [row[0] for row in self.base.execute(said, (name,))]

    def pop(self, name: str) -> bytes:
        said = (
            "delete from entries where id = (select max(id) from entries where list = ?)"
            " returning payload"
        )
        [row] = self.base.execute(said, (name,)).fetchall()
        return row[0]

    def close(self) -> None:
        self.base.close()


def python(place: Path) -> Iterator[tuple[Result, float | None]]:
    """Race cells and lists through Python; each with the bar of ours in microseconds, if any."""
    payload, other = os.urandom(1_024), os.urandom(1_024)
    ours, theirs = Ours(place), Sqlite(place)
    both: dict[str, Ours | Sqlite] = {"warmset": ours, "SQLite": theirs}
    for one in both.values():
        one.put_all(range(CELLS), payload)
        one.fill_among()
        one.add_all("first", [b"entry"])
    picked = random.Random(5).choices(range(CELLS // 2), k=4_000)  # noqa: S311 - a workload

    def of(name: str, hold: float | None, rounds: int, turn: int) -> Any:
        calls = {who: (lambda at, one=one: actions[name](one, at)) for who, one in both.items()}
        return race(name, calls, rounds=rounds, turn=turn, clock=CLOCK), hold

    actions = {
        "version": lambda one, at: check(one.version(picked[at % 4_000]), "version"),
        "get 1 KB": lambda one, at: check(one.get(picked[at % 4_000]) == payload, "get"),
        "put 1 KB": lambda one, at: one.put(picked[at % 4_000], other),
        "remove": lambda one, at: one.remove(CELLS // 2 + at),
        "spaces, 100": lambda one, _: check(one.spaces() == SPACES, "spaces"),
        "filter 10,000": lambda one, _: check(one.filter() == 100, "filter"),
    }
    yield of("version", 5, rounds=100, turn=50)
    yield of("get 1 KB", None, rounds=100, turn=50)
    yield of("spaces, 100", 1_000, rounds=20, turn=10)
    yield of("filter 10,000", 1_000, rounds=20, turn=10)
    yield of("put 1 KB", None, rounds=100, turn=50)
    yield of("remove", 20, rounds=100, turn=50)
    for one in both.values():
        check(all(one.get(at) == other for at in picked), "puts")
        check(not any(one.version(CELLS // 2 + at) for at in range(5_000)), "removals")
    payloads = [os.urandom(200) for _ in range(ENTRIES)]
    adds = {
        who: (lambda at, one=one: one.add_all(f"run {at}", payloads)) for who, one in both.items()
    }
    yield race("list of 10,000: add all", adds, rounds=5, turn=2, clock=CLOCK), 60_000
    loads = {
        who: (lambda at, one=one: check(one.load(f"run {at % 15}") == payloads, "load"))
        for who, one in both.items()
    }
    yield race("list of 10,000: load all", loads, rounds=5, turn=2, clock=CLOCK), 21_000
    pops = {
        who: (lambda at, one=one: check(one.pop("run 3") == payloads[-1 - at], "pop"))
        for who, one in both.items()
    }
    yield race("list of 10,000: pop", pops, rounds=20, turn=20, clock=CLOCK), 300
    for one in both.values():
        one.close()


def shown(figure: dict[str, Any]) -> str:
    """Write a figure of the core as a line."""
    beside = {"name", "unit", "value", "hold"}
    rest = ", ".join(f"{name} {value:,.1f}" for name, value in figure.items() if name not in beside)
    fits = "" if figure["value"] <= figure["hold"] else "  MISSED"
    return (
        f"{figure['name']:55} {figure['value']:12,.2f} {figure['unit']:6}"
        f" hold {figure['hold']:10,.0f}{fits}   {rest}"
    )


def main() -> None:
    """Measure, print, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--only", nargs="*", default=[], help=", ".join(EVERY))
    options = parser.parse_args()
    every = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    found, begin = setting(()), time.perf_counter()
    found["sqlite"] = sqlite3.sqlite_version
    wanted = options.only or EVERY
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        found["file system"] = file_system(Path(place))
        print(json.dumps(found, indent=1, ensure_ascii=False), file=sys.stderr)
        # Built on all cores, before the first line is measured on one.
        build = [*CARGO[:-1], "--no-run"]
        subprocess.run(build, cwd=ROOT, check=True)  # noqa: S603 - our own command
        one = {min(every, default=0)}
        memory = MEMORY if MEMORY.is_dir() else Path(place)
        for names, cores, where in (
            (TOGETHER, every, Path(place)),
            (ALONE, one, Path(place)),
            (["erase"], one, memory),
        ):
            pin(cores)
            lines = [name for name in names if name in wanted]
            for figure in core(where, lines) if lines else ():
                figures.append(figure)
                print(shown(figure), flush=True)
        raced = []
        for result, hold in python(Path(place)) if "python" in wanted else ():
            bar = "" if hold is None else f"   hold {hold:,} µs"
            print(line(result) + bar, flush=True)
            raced.append(asdict(result) | {"ratios": result.ratios, "hold": hold})
    found["load at the end"] = os.getloadavg()
    found["seconds"] = round(time.perf_counter() - begin, 1)
    if options.json:
        said = {"setting": found, "core": figures, "python": raced}
        text = json.dumps(said, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
