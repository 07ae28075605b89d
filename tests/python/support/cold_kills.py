"""Writers that are killed at random moments; run as a program, it prints what came of it as JSON.

Each writer is a process of its own, forked from one that has imported the library already. It says
over a pipe what was acknowledged. After each kill the store is opened and compared with that.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from warmset._core import ColdStore

STORE_LIFE = 25
"""Kills that one store lives through."""

LONGEST = 0.05
"""Seconds that a writer lives at most."""

OPTIONS: list[dict[str, Any]] = [
    {"durability": "fsync"},
    {"durability": "os"},
    {"durability": "interval", "sync_interval": 0.001},
    {"durability": "fsync", "mode": "exclusive"},
    {"durability": "fsync", "encryption": "keys"},
]

Row = tuple[str, list[bytes], bytes, bytes]


def batch_of(run: int, n: int) -> list[Row]:
    """The n-th batch of a run: what it holds says where it belongs."""
    rng = random.Random(f"{run} {n}")
    count = rng.choice([1, 1, 1, 2, 3, 7])
    return [
        (
            "turn",
            [b"tenant", b"%d" % (run % 3)],
            b"%d %d %d %d" % (run, n, place, count),
            rng.randbytes(rng.choice([0, 1, 60, 500, 3000])),
        )
        for place in range(count)
    ]


def write(path: Path, run: int, options: dict[str, Any], out: int) -> None:
    """Append until somebody kills this process."""
    rng = random.Random(run)
    n = 0
    while True:
        with ColdStore.open(path, segment_bytes=rng.choice([4096, 20_000]), **options) as store:
            for _ in range(rng.choice([1, 5, 50, 500])):
                ids = store.append(batch_of(run, n))
                os.write(out, b"%d %d\n" % (n, ids[0]))
                n += 1


def one_life(path: Path, run: int, options: dict[str, Any], seconds: float) -> dict[int, int]:
    """Start a writer, kill it, and return what it had acknowledged: batch ─▶ first id."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            write(path, run, options, writer)
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(writer, f"! {error!r}\n".encode())
        finally:
            os._exit(1)
    os.close(writer)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reader, "rb") as acks:
        lines = acks.read().split(b"\n")[:-1]
    for line in lines:
        if line.startswith(b"!"):
            raise AssertionError(line.decode())
    return dict(tuple(map(int, line.split())) for line in lines)  # type: ignore[misc]


Found = dict[tuple[int, int], list[tuple[int, int, int]]]
"""Run and batch ─▶ id, place and count of each member that is there."""


def read(path: Path, options: dict[str, Any]) -> tuple[Found, list[str]]:
    """Read everything that a store holds, and say what is wrong with a record."""
    wrong: list[str] = []
    found: Found = {}
    with ColdStore.open(path, mode="exclusive", encryption=options.get("encryption")) as store:
        start, last = 1, 0
        while page := store.page(start):
            for record in page:
                run, n, place, count = map(int, record.meta.split())
                given = batch_of(run, n)[place]
                if (record.kind, list(record.key), record.meta, record.payload) != given:
                    wrong.append(f"record {record.seq} is not what was given")
                if record.seq <= last:
                    wrong.append(f"record {record.seq} comes after {last}")
                last = record.seq
                found.setdefault((run, n), []).append((record.seq, place, count))
            start = page[-1].seq + 1
        damages = store.report()["damages"] + store.verify()["damages"]
    return found, wrong + [f"damage: {damage}" for damage in damages]


def check(path: Path, acked: dict[tuple[int, int], int], options: dict[str, Any]) -> list[str]:
    """Compare a store with what was acknowledged of it, and say what is wrong."""
    found, wrong = read(path, options)
    for name, members in found.items():
        first, _, count = members[0]
        if members != [(first + place, place, count) for place in range(count)]:
            wrong.append(f"batch {name} is not whole: {members}")
    for name, first in acked.items():
        here = found[name][0][0] if name in found else None
        if here != first:
            wrong.append(f"batch {name} was acknowledged as {first}, and is {here}")
    silent = [run for run, n in found if (run, n) not in acked]
    if len(silent) != len(set(silent)):
        wrong.append(f"more than one batch of a run was never acknowledged: {silent}")
    return wrong


def main(root: Path, seed: int, kills: int) -> dict[str, Any]:
    """Kill that many writers; stops at the first thing that is wrong."""
    rng = random.Random(seed)
    acked: dict[tuple[int, int], int] = {}
    told = {"seed": seed, "kills": 0, "acknowledged": 0, "cuts": 0, "wrong": []}
    path, options = root / "store", OPTIONS[0]
    for run in range(kills):
        if run % STORE_LIFE == 0:
            shutil.rmtree(path, ignore_errors=True)
            acked, options = {}, OPTIONS[run // STORE_LIFE % len(OPTIONS)]
        new = one_life(path, run, options, rng.random() ** 2 * LONGEST)
        acked |= {(run, n): first for n, first in new.items()}
        told["kills"] += 1
        told["acknowledged"] += len(new)
        if not path.exists():
            continue
        told["wrong"] = check(path, acked, options)
        told["cuts"] = told["cuts"] + len(list((path / "torn").glob("*")))
        if told["wrong"]:
            told |= {"run": run, "options": options, "path": str(path)}
            break
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
