"""Routing among 100,000 items, and putting items: each figure beside what it should hold.

    taskset -c 0 python -m benches.python.route.bars --json benches/results/route-<cpu>-<date>.json

A task with five needs is routed by its specification, without a model: fresh each time, and again
while nothing changed. The peer does the first phase alone in Python and numpy, in the same run: a
loop over the items for their labels, and one product for their cosines. The vector of the query is
given. Its candidates by label are checked against the peer's. `--items 10000` is a trial.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import ROOT, setting

# isort: split
import numpy as np

from benches.python.race import check
from warmset import Memory
from warmset.items import NewItem
from warmset.route import Need, Router, TaskSpec

sys.path.insert(0, str(ROOT / "tests" / "python" / "support"))
from index_vectors import vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.route import Payload

ITEMS, QUERIES, PUT = 100_000, 300, 10_000
TYPES = ("document_chunk",) * 6 + ("module_output", "error_fix", "user_context", "error_context")
NEEDS = (
    Need(
        type="user_context",
        scope="global",
        priority="essential",
        keys=("key 17",),
        sections=("Item 17",),
        module="module 18",
    ),
    Need(type="document_chunk", scope="global", sections=("Item 7", "Item 8"), keys=("key 27",)),
    Need(type="module_output", scope="current_pipeline", modules=("module 6", "module 16")),
    Need(type="error_fix", scope="global", priority="conditional"),
    Need(type="document_chunk", scope="global", sections=("Item 30",), similarity_match=0.3),
)
SPEC = TaskSpec(task_type="task", required_memory=NEEDS, max_context_tokens=8_000)
BARS = {"route": (2_000.0, 500.0), "put": (20_000.0, 20_000.0)}


def item(at: int, draw: random.Random, words: list[str]) -> NewItem:
    """Return an item; its text has its number, by which its vector is found."""
    return NewItem(
        memory_type=TYPES[at % 10],
        memory_id=f"item {at}",
        text=f"{at} {' '.join(draw.choices(words, k=25))}",
        sections=[f"Item {at // 10 % 40}"],
        keys=[f"key {at // 10 % 50}"],
        pipeline=f"pipeline {at // 7 % 50}",
        module_context=f"module {at % 20}",
    )


def by_hand(items: list[NewItem], rows: Any, query: Any) -> dict[int, set[str]]:
    """Return the candidates of each need by its labels, and score everything, as a peer would."""
    found: dict[int, set[str]] = {at: set() for at in range(len(NEEDS))}
    for one in items:
        for at, need in enumerate(NEEDS):
            if (
                one.memory_type == need.type
                and (not need.sections or not set(need.sections).isdisjoint(one.sections))
                and (not need.keys or not set(need.keys).isdisjoint(one.keys))
                and (not need.all_modules or one.module_context in need.all_modules)
                and (need.scope == "global" or one.pipeline == "pipeline 6")
            ):
                found[at].add(one.memory_id or "")
    cosines = rows @ query
    for names in found.values():
        sorted(names, key=lambda name: -cosines[int(name.split()[1])])
    return found


def timed(call: Callable[[int], Any], count: int) -> dict[str, float]:
    """Return the median and the 90th percentile of some calls, in microseconds."""
    took: list[float] = []
    for at in range(count):
        started = time.perf_counter()
        call(at)
        took.append((time.perf_counter() - started) * 1e6)
    return {"p50": statistics.median(took), "p90": sorted(took)[len(took) * 9 // 10]}


def puts(place: Path, draw: random.Random, words: list[str]) -> dict[str, float]:
    """Return how many items are put in a second, by words alone."""
    items = [item(at, draw, words) for at in range(PUT)]
    with Memory.open(place / "puts", embedder="lexical", durability="os") as memory:
        started = time.perf_counter()
        names = memory.items.put_many(items)
        took = time.perf_counter() - started
        check(len(set(names)) == PUT, "each item has a name of its own")
        check(memory.items.get(names[-1]).text == items[-1].text, "the last item is there")
    return {"a second": PUT / took}


def routes(place: Path, draw: random.Random, words: list[str], count: int) -> dict[str, Any]:
    """Return the times of routes among so many items."""
    rows, queries = vectors("like", count, QUERIES)

    def at(text: str) -> int:
        number = text.split(maxsplit=1)[0]
        return int(number) if number.isdigit() else 0  # what tells an embedder is no item

    def embed(texts: list[str]) -> Any:
        return np.stack([rows[at(text)] for text in texts])

    items = [item(at, draw, words) for at in range(count)]
    asked = [" ".join(draw.choices(words, k=8)) for _ in range(QUERIES)]
    with Memory.open(place / "routes", embedder=embed, durability="os") as memory:
        memory.items.put_many(items)
        memory.flush(600)
        check(not memory.stats()["failed"], "every item has its vector")
        kept = Router(memory, specs=[SPEC])
        fresh = Router(memory, specs=[SPEC], plans=0)

        def route(router: Router, at: int) -> Payload:
            return router.route(
                "task", query=asked[at], query_vector=queries[at], pipeline="pipeline 6"
            )

        made = route(fresh, 0)
        wanted = by_hand(items, rows, queries[0])
        for at in (0, 1, 2):
            there = {one.memory_id for one in made.context_payload if at in one.needs}
            check(there <= wanted[at], f"need {at} has its labels")
            check(made.needs[at].matched == len(wanted[at]), f"need {at} has every match")
        check(made.total_tokens <= SPEC.max_context_tokens, "the payload keeps to its budget")
        route(kept, 0)
        check(route(kept, 0).messages == made.messages, "a kept plan is that of a fresh one")
        return {
            "candidates": len(made.context_payload) + len(made.excluded),
            "included": len(made.context_payload),
            "fresh": timed(lambda at: route(fresh, at), QUERIES),
            "again": timed(lambda _at: route(kept, 0), QUERIES),
            "in Python and numpy": timed(lambda at: by_hand(items, rows, queries[at]), 5),
        }


def main() -> None:
    """Print the figures, and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--place", type=Path, help="a directory for the stores")
    parser.add_argument("--json", type=Path, help="where the results are written")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    draw = random.Random(11)  # noqa: S311 - the same items each time
    words = [f"word{n}" for n in range(5_000)]
    with tempfile.TemporaryDirectory(dir=given.place) as place:
        put = puts(Path(place), draw, words)
        found = routes(Path(place), draw, words, given.items)
    hold, goal = BARS["route"]
    peer = found["in Python and numpy"]["p50"]
    print(f"{given.items:,} items, {found['candidates']} candidates, {found['included']} in")
    for name in ("fresh", "again"):
        p50, p90 = found[name]["p50"], found[name]["p90"]
        print(
            f"route, {name}: {p50:,.0f} µs, p90 {p90:,.0f} (hold {hold:,.0f}, goal {goal:,.0f}); "
            f"the peer takes {peer / p50:,.0f} times as long"
        )
    print(f"put_many of {PUT:,}: {put['a second']:,.0f} a second (hold {BARS['put'][0]:,.0f})")
    if given.json:
        results = {"setting": setting(), "items": given.items, "put": put, "route": found}
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
