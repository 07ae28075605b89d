"""Searches whose codes are not in the caches: after other memory was read, and over a file's map.

    taskset -c 0 python -m benches.python.index.beyond_cache --json benches/results/<name>.json
    taskset -c 0 python -m benches.python.index.beyond_cache --mapped 5000000 --place DIR

An agent searches once a turn, so that its codes come from memory: before every call other bytes are
read, more than the caches hold, and ours and `faiss` are timed in this state in turns. Inserts are
timed beside it, at 384 and 1,536 dimensions. With `--mapped` as many rows are written to a file,
opened from its map and searched, beside passes over as many bytes; it needs 3.6 KB of memory and
2 KB of disk a row.
"""

from __future__ import annotations

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
from benches.python.from_tests import index_vectors, oracle

# isort: split
import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benches.python.index import contests, peers
from benches.python.index.bars import said
from benches.python.index.race import show
from benches.python.index.timing import Memory, progress, turns
from benches.python.race import Result, check
from warmset.native import HotIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHER = 150_000_000  # bytes read between two calls
CALLS = 200
BARS = {10_000: (6.5, 8), 100_000: (10, 13)}
INSERTED = {384: (5, 2), 1_536: (15, 6)}  # microseconds a row
K = contests.K


def judged(found: float, hold: float, goal: float) -> str:
    """Put a bar that is to be stayed under, and what was found, into words."""
    how = "goal met" if found <= goal else "held" if found <= hold else "MISSED"
    return f"{how} ({found:,.2f}; hold {hold:,.2f}, goal {goal:,.2f})"


def cold(n: int) -> Result:
    """Time single searches, other memory read before each."""
    rows, queries = index_vectors.vectors("like", n, contests.QUERIES)
    index, _ = contests.ours(rows)
    for at, answer in enumerate(contests.brute_force(rows, queries[: contests.CHECKED])):
        check(oracle.same(index.search(queries[at], K), answer), f"cold {n}, {at}")
    flat = contests.build("faiss flat", peers.Flat, rows)
    calls = {"warmset": lambda query: index.search(query, K)}
    if flat is not None:
        calls["faiss flat"] = flat.one
    other, times = np.ones(OTHER // 4, np.float32), {name: [] for name in calls}
    for number in range(CALLS):
        progress(f"cold {n:,}: {number} of {CALLS}")
        names = list(calls)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            other.max()
            begin = time.perf_counter_ns()
            calls[name](queries[number % len(queries)])
            times[name].append((time.perf_counter_ns() - begin) / 1e3)
    progress("")
    result = Result(f"cold, like {n:,}", {one: median(t) for one, t in times.items()}, CALLS)
    if flat is not None and n in BARS:
        result.notes["bar of faiss flat"] = said(result.ratios["faiss flat"], *BARS[n])
    return result


def inserts(dim: int, n: int = 20_000) -> Result:
    """Time rows that are added to an index, some thousands at once."""
    rng = np.random.default_rng(dim)
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    index, _ = contests.ours(rows)
    check(index.search(rows[7], 1)[0].tolist() == [7], f"inserts, {dim}")
    found = median(contests.ours(rows)[1] for _ in range(5))
    result = Result(f"insert, {dim:,} dimensions", {"warmset": found}, 5 * n)
    result.notes["bar in µs"] = judged(found, *INSERTED[dim])
    return result


def mapped(n: int, place: Path, seconds: float = 20.0) -> Iterator[Result]:
    """Time opening a file of so many rows, and searches over its map."""
    progress(f"{n:,} rows")
    rows, queries = index_vectors.vectors("like", n, contests.CHECKED)
    index, _ = contests.ours(rows)
    path = place / "mapped.index"
    progress("writing the file")
    index.save(path)
    del index
    answers = contests.brute_force(rows, queries)
    del rows
    try:
        opened = []
        for _ in range(9):
            begin = time.perf_counter_ns()
            index = HotIndex.open(path)
            opened.append((time.perf_counter_ns() - begin) / 1e3)
        for at, answer in enumerate(answers):
            check(oracle.same(index.search(queries[at], K), answer), f"mapped {n}, {at}")
        head, size = contests.scanned(index, queries[0])
        memory = Memory(size)
        bytes_of_file = np.memmap(path, np.int32, "r")[: int(size) // 4]
        calls = {"warmset": lambda at: index.search(queries[at % len(queries)], K)}
        calls |= {"the map in a row": lambda _: bytes_of_file.max()} | memory.calls()
        result = turns(f"mapped, like {n:,}", calls, seconds)
        in_a_row = result.microseconds.pop("the map in a row")
        memory.note(result)
        result.notes |= {
            "read first": head,
            "bytes of a row read first": size / n,
            "GB/s of the map in a row": size / in_a_row / 1e3,
            "share of the map's bandwidth": in_a_row / result.microseconds["warmset"],
            "ms to open": median(opened) / 1e3,
        }
        share = float(result.notes["share of the bandwidth"])
        result.notes["bar of the bandwidth"] = said(share, 0.7, 1.0)
        result.notes["bar of opening in ms"] = judged(median(opened) / 1e3, 50, 50)
        yield result
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--mapped", type=int, help="search as many over a map instead")
    parser.add_argument("--place", type=Path, help="where their file may be, of 2 KB a row")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()
    found, made = setting(("numpy", "faiss-cpu")), []
    if options.place:  # where somebody keeps files says nothing about a number
        found["command"] = str(found["command"]).replace(str(options.place), "DIR")
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if found["cores"] != 1:
        print("not pinned: run it under taskset -c 0", file=sys.stderr)
    for result in contested(options):
        show(result)
        made.append(asdict(result) | {"ratios": result.ratios})
    if options.json:
        text = json.dumps({"setting": found, "results": made}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


def contested(options: argparse.Namespace) -> Iterator[Result]:
    """Hold what was asked for."""
    if options.mapped:
        yield from mapped(options.mapped, options.place or Path())
        return
    for n in options.sizes:
        yield cold(n)
    for dim in INSERTED:
        yield inserts(dim)


if __name__ == "__main__":
    main()
