"""What a window and a search cost beside the bare scan of the same vectors.

``taskset -c 0 python -m benches.python.window.over_index [--sizes 10000 100000] [--json FILE]``

A memory and an index have the same vectors; both take turns, and every query is a new one, given
with its vector, so that windows quote turns that they did not quote before. A window is checked
against its budget, a search and the scan for what they find. With ``--threads`` two threads, each
with a conversation of its own, make as many windows as one thread made: that needs two cores, and
no ``taskset``.
"""

from __future__ import annotations

from benches.python import material, setting  # isort: skip - threads are set before numpy loads

import argparse
import gc
import json
import threading
import time
from itertools import count
from pathlib import Path
from statistics import median

from benches.python.race import check
from warmset import Memory
from warmset.embed import FunctionEmbedder
from warmset.native import HotIndex

BUDGET = 4_000
ROUNDS = {10_000: 600, 100_000: 150}
WARM_UP = 20
QUERIES = 500


class Queries:
    """Queries that were not asked before, each with its vector."""

    def __init__(self):
        self._texts = material.texts(QUERIES)
        self._vectors = material.hashed(self._texts)
        self._number = count()

    def next(self):
        """Return the text and the vector of the next one."""
        at = next(self._number)
        return f"{self._texts[at % QUERIES][:80]} {at}", self._vectors[at % QUERIES]


def opened(size, names=("log",)):
    """Return a memory in which each conversation has so many turns with vectors."""
    memory = Memory.open(None, embedder=FunctionEmbedder(material.hashed, dim=material.DIM))
    said = material.conversation(size)
    for name in names:
        for start in range(0, size, 2_000):
            memory.conversation(name).append(said[start : start + 2_000])
    check(memory.flush(600), "vectors")
    return memory, said


def calls(size):
    """Return what is measured, by its name."""
    memory, said = opened(size)
    talk, queries = memory.conversation("log"), Queries()
    index = HotIndex(material.DIM)
    index.add(range(1, size + 1), material.hashed([one["content"] for one in said]))

    def window():
        text, vector = queries.next()
        made = talk.window(text, query_vector=vector, budget=BUDGET)
        check(made.tokens <= BUDGET and made.report.picked, "window")

    def search():
        text, vector = queries.next()
        check(len(talk.search(text, query_vector=vector, k=12)) == 12, "search")

    def scan(k):
        _, vector = queries.next()
        ids, scores = index.search(vector, k=k)
        check(len(ids) == k and scores[0] >= scores[-1], "scan")

    return {
        "window": window,
        "search": search,
        "scan, k = 256": lambda: scan(256),
        "scan, k = 12": lambda: scan(12),
    }


def measured(size):
    """Return microseconds a call, and how many times as long as the scans windows take."""
    contestants = calls(size)
    for call in contestants.values():
        for _ in range(WARM_UP):
            call()
    gc.collect()
    gc.freeze()  # what was made before is no part of a call
    times = {name: [] for name in contestants}
    for _ in range(ROUNDS.get(size, 60)):
        for name, call in contestants.items():
            start = time.perf_counter_ns()
            call()
            times[name].append((time.perf_counter_ns() - start) / 1e3)
    found = {}
    for name, some in times.items():
        some.sort()
        found[name] = {"p50": median(some), "p99": some[len(some) * 99 // 100], "calls": len(some)}
    for name in ("window", "search"):
        for k in (256, 12):
            scan = found[f"scan, k = {k}"]["p50"]
            found[name][f"over k = {k}"] = found[name]["p50"] / scan
    return found


class Pair:
    """Two conversations of a memory, and a number of windows of each."""

    def __init__(self, size, windows=300):
        self._names = ("one", "two")
        self._memory, _ = opened(size, self._names)
        self._queries = {name: Queries() for name in self._names}
        self._windows = windows
        self.alone()

    def make(self, name):
        """Make the windows of a conversation."""
        for _ in range(self._windows):
            text, vector = self._queries[name].next()
            talk = self._memory.conversation(name)
            made = talk.window(text, query_vector=vector, budget=BUDGET)
            check(made.tokens <= BUDGET, "window")

    def alone(self):
        """Make those of both, one after the other."""
        for name in self._names:
            self.make(name)

    def together(self):
        """Make those of both at the same time."""
        both = [threading.Thread(target=self.make, args=(name,)) for name in self._names]
        for one in both:
            one.start()
        for one in both:
            one.join()


def threads(size):
    """Return how many times as many windows two threads make as one."""
    pair, ratios = Pair(size), []
    for _ in range(5):
        times = []
        for run in (pair.alone, pair.together):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        ratios.append(times[0] / times[1])
    return {"two threads over one": median(ratios)}


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--threads", action="store_true", help="two threads, at the first size")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    if options.threads:
        results["threads"] = threads(options.sizes[0])
        print(results["threads"])
    else:
        for size in options.sizes:
            results[str(size)] = found = measured(size)
            for name, figures in found.items():
                said = " ".join(f"{what} {figure:,.2f}" for what, figure in figures.items())
                print(f"{size:>9,} {name:14} {said}", flush=True)
    if options.json is not None:
        written = {"setting": setting.setting(), "budget": BUDGET, "results": results}
        options.json.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
