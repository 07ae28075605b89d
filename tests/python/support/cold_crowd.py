"""Processes that share a store while some of them are killed; run as a program, it prints JSON.

Writers append, hooks append one record and go, readers look. Each says over a pipe:

    A <name> <first id>    a batch was stored        S <name>    a batch was spooled
    R <records>            a reader saw so many      ! <words>   something is wrong
"""

from __future__ import annotations

import json
import os
import random
import selectors
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warmset._core import ColdStore, content_hash
from warmset.receipts import Spooled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEGMENT = 16_384
DURABILITIES: list[dict[str, Any]] = [
    {"durability": "fsync"},
    {"durability": "fsync"},
    {"durability": "os"},
    {"durability": "interval", "sync_interval": 0.002},
]

Row = tuple[str, list[bytes], bytes, bytes]
Seen = list[tuple[int, bytes, bytes]]
"""Id, meta and hash of the payload."""


def batch_of(name: str) -> list[Row]:
    """The batch of a name: what it holds says where it belongs."""
    rng = random.Random(name)
    count = rng.choice([1, 1, 2, 5])
    meta = f"{name} {count}"
    return [
        ("turn", [b"t", b"c"], f"{meta} {place}".encode(), rng.randbytes(rng.choice([0, 99, 2000])))
        for place in range(count)
    ]


def records(store: ColdStore, start: int = 1) -> Iterator[Any]:
    """All records but the store's own."""
    while page := store.page(start):
        yield from (record for record in page if record.kind == "turn")
        start = page[-1].seq + 1


# --- what processes do ---------------------------------------------------------------------------


def write(path: Path, seed: int, say: Callable[[str], None], *, once: bool) -> None:
    """Append batches, or leave them in the spool where the lock is busy."""
    rng = random.Random(seed)
    options = {"lock_wait": rng.choice([0.0, 0.001, 0.1]), **rng.choice(DURABILITIES)}
    n = 0
    while True:
        with ColdStore.open(path, on_busy="spool", segment_bytes=SEGMENT, **options) as store:
            for _ in range(1 if once else rng.choice([1, 20, 200])):
                name = f"{seed}.{n}"
                told = store.append_or_spool(batch_of(name))
                say(f"A {name} {told[0]}" if not isinstance(told, Spooled) else f"S {name}")
                n += 1
                if rng.random() < 0.3:
                    time.sleep(rng.random() * 0.003)
        if once:
            return


def look(path: Path, seed: int, say: Callable[[str], None]) -> None:
    """See that what was seen stays, that only more comes behind it, and that batches are whole."""
    rng = random.Random(seed)
    seen: Seen = []
    mode = rng.choice([{"mode": "read"}, {"mode": "shared", "on_busy": "spool", "lock_wait": 0.0}])
    while True:
        with ColdStore.open(path, read=rng.choice(["map", "pread"]), **mode) as store:
            for _ in range(rng.choice([1, 10, 50])):
                whole = rng.random() < 0.2
                start = 1 if whole or not seen else seen[-1][0] + 1
                new = [(r.seq, r.meta, content_hash(r.payload)) for r in records(store, start)]
                if whole and new[: len(seen)] != seen:
                    say(f"! what a reader saw is no prefix: {len(seen)} before, {len(new)} after")
                    return
                seen = new if whole else seen + new
                if seen:
                    _, count, place = seen[-1][1].split()
                    if int(place) != int(count) - 1:
                        say(f"! a reader saw a part of a batch: {seen[-1]}")
                        return
                damages = store.report()["damages"]
                if damages:
                    say(f"! a reader met damage: {damages}")
                    return
                say(f"R {len(seen)}")
                time.sleep(rng.random() * 0.01)


ROLES: dict[str, Callable[[Path, int, Callable[[str], None]], None]] = {
    "writer": lambda path, seed, say: write(path, seed, say, once=False),
    "hook": lambda path, seed, say: write(path, seed, say, once=True),
    "reader": look,
}


# --- the crowd -----------------------------------------------------------------------------------


class Crowd:
    """Two to eight processes at a time; one that ends or is killed is followed by another one."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.rng, self.seed = path, random.Random(seed), seed
        self.pipes = selectors.DefaultSelector()
        self.running: dict[int, tuple[int, bytes]] = {}
        self.stored: dict[str, int] = {}
        self.spooled: list[str] = []
        self.wrong: list[str] = []
        self.count: Counter[str] = Counter()
        self.next = 0

    def start(self) -> None:
        self.next += 1
        role = self.rng.choice(["writer", "writer", "reader", "hook"])
        self.count[role] += 1
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            self._be(role, writer)
        os.close(writer)
        os.set_blocking(reader, False)
        self.pipes.register(reader, selectors.EVENT_READ, pid)
        self.running[pid] = (reader, b"")

    def _be(self, role: str, out: int) -> None:
        try:
            number = self.seed * 1_000_000 + self.next
            ROLES[role](self.path, number, lambda line: os.write(out, f"{line}\n".encode()))
        except BaseException as error:  # noqa: BLE001 - refused, but not in silence
            os.write(out, f"! {role}: {error!r}\n".encode())
        finally:
            os._exit(0)

    def hear(self, pid: int) -> None:
        """Take up what a process said; one that said its last word is buried."""
        reader, before = self.running[pid]
        data = os.read(reader, 1 << 16)
        *lines, rest = (before + data).split(b"\n")
        self.running[pid] = (reader, rest)
        for line in lines:
            what, *words = line.decode().split(" ", 2)
            self.count[what] += 1
            if what == "A":
                self.stored[words[0]] = int(words[1])
            elif what == "S":
                self.spooled.append(words[0])
            elif what == "!":
                self.wrong.append(line.decode())
        if not data:
            self.pipes.unregister(reader)
            os.close(reader)
            os.waitpid(pid, 0)
            del self.running[pid]

    def run(self, seconds: float) -> None:
        """Let them work, and kill one now and then."""
        end = time.monotonic() + seconds
        size = 2
        while time.monotonic() < end and not self.wrong:
            if self.rng.random() < 0.02:
                size = self.rng.randint(2, 8)
            while len(self.running) < size:
                self.start()
            for event, _ in self.pipes.select(0.01):
                self.hear(event.data)
            if self.running and self.rng.random() < 0.05:
                self.kill(self.rng.choice(list(self.running)))
        for pid in list(self.running):
            self.kill(pid)
        while self.running:
            for event, _ in self.pipes.select():
                self.hear(event.data)

    def kill(self, pid: int) -> None:
        self.count["kill"] += 1
        os.kill(pid, signal.SIGKILL)

    def check(self) -> None:
        """Compare the store with what was said of it, after the next writer took the spool up."""
        found: dict[str, list[tuple[int, int, int]]] = {}
        with ColdStore.open(self.path, lock_wait=30.0, segment_bytes=SEGMENT) as store:
            store.append(batch_of("last"))
            if store.spooled():
                self.wrong.append(f"the spool is not empty: {store.spooled()}")
            given: dict[str, list[Row]] = {}
            for record in records(store):
                name, count, place = record.meta.decode().split()
                rows = given.setdefault(name, batch_of(name))
                if record.payload != rows[int(place)][3]:
                    self.wrong.append(f"record {record.seq} is not what was given")
                found.setdefault(name, []).append((record.seq, int(place), int(count)))
            damages = store.report()["damages"] + store.verify()["damages"]
            self.wrong += [f"damage: {damage}" for damage in damages]
        for name, members in found.items():
            first, _, count = members[0]
            if members != [(first + place, place, count) for place in range(count)]:
                self.wrong.append(f"batch {name} is not there whole and once: {members}")
        for name, first in self.stored.items():
            here = found[name][0][0] if name in found else None
            if here != first:
                self.wrong.append(f"batch {name} was stored as {first}, and is {here}")
        lost = [name for name in self.spooled if name not in found]
        self.wrong += [f"batch {name} was spooled and is lost" for name in lost]


def main(root: Path, seed: int, seconds: float) -> dict[str, Any]:
    """Let a crowd work on a new store, and say what came of it."""
    path = root / "store"
    with ColdStore.open(path, segment_bytes=SEGMENT) as store:
        store.append(batch_of("first"))
    crowd = Crowd(path, seed)
    crowd.run(seconds)
    crowd.check()
    return {"seed": seed, "count": dict(crowd.count), "wrong": crowd.wrong[:20]}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
