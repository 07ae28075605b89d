"""Exact search beside those who do it too, and beside those who come close: one core, in turns.

    taskset -c 0 python -m benches.python.index.race --peers DIR --install --json OUT

All in one process, through the Python binding. Answers of ours are compared with a brute force of
the canonical sum, ids and scores bit for bit, in every contest; what approximate peers find is
counted against ours, and they are given the least effort that finds 99 %. It takes ten minutes,
half of them for building graphs; `--quick` is for trying it out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
from benches.python.from_tests import index_vectors, real_vectors
from benches.python.index import peers
from benches.python.index.bars import judge
from benches.python.index.contests import convenience, drawn, filters, said, searches
from benches.python.index.timing import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benches.python.race import Result

SIZES = [1_000, 10_000, 100_000, 1_000_000]
KINDS = ["like", "isotropic", "real"]
SECONDS = 6.0
VERSIONS = ("numpy", "faiss-cpu", "pyarrow", *peers.PACKAGES)


def contests(options: argparse.Namespace, sizes: list[int], seconds: float) -> Iterator[Result]:
    """Hold all contests, the small ones first."""
    for n in sizes:
        for kind in options.kinds:
            if kind == "real" and n > 100_000:
                continue  # there are 92,000 texts
            yield from raced(kind, seconds, lambda kind=kind, n=n: drawn(kind, n))
    if options.locomo:
        yield from raced("LoCoMo", seconds, lambda: said(options.locomo))
    yield from convenience(10_000, seconds)
    yield from filters(max(10_000, *sizes), seconds)


def raced(kind: str, seconds: float, give: Callable[[], tuple[Any, Any]]) -> Iterator[Result]:
    """Make vectors, race with them, and let them go."""
    progress(f"{kind}: vectors")
    try:
        yield from searches(kind, *give(), seconds)
    except real_vectors.NoModel as error:
        print(f"skipped {kind}: {error}", file=sys.stderr)
    gc.collect()


def show(result: Result) -> None:
    """Print a contest: each contestant's times, and what is known of it; then what is left."""
    notes = dict(result.notes)
    print(f"\n{result.name}  ({result.calls:,} calls)")
    for one, micros in result.microseconds.items():
        said = []
        for key in [key for key in notes if key.endswith(f" of {one}")]:
            value = notes.pop(key)
            shown = f"{value:,.4g}" if isinstance(value, float) else str(value)
            said.append(f"{key.removesuffix(f' of {one}')} {shown}")
        ratio = f"x {result.ratios[one]:,.2f}" if one in result.ratios else ""
        print(f"  {one:20} {micros:>12,.1f} µs  {ratio:>10}  {', '.join(said)}")
    for key, value in notes.items():
        print(f"  {key}: {value:,.3g}" if isinstance(value, float) else f"  {key}: {value}")
    sys.stdout.flush()


def main() -> None:
    """Run all contests, print the tables, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--peers", type=Path, help="directory of the peers' packages")
    parser.add_argument("--install", action="store_true", help="fetch them with pip")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", choices=index_vectors.KINDS, default=KINDS)
    parser.add_argument("--locomo", type=Path, help="LoCoMo's file: turns as rows, questions asked")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 rows, few calls")
    options = parser.parse_args()
    named = os.environ.get(peers.VARIABLE)
    place = options.peers or (Path(named) if named else None)
    if options.install:
        if place is None:
            parser.error(f"--install needs --peers or {peers.VARIABLE}")
        peers.install(place)
    peers.use(place)
    sizes, seconds = options.sizes, SECONDS
    if options.quick:
        sizes, seconds = [n for n in sizes if n <= 10_000] or [1_000], 1.0
    found, begin = setting(VERSIONS), time.perf_counter()
    for given, word in ((options.peers, "DIR"), (options.locomo, "FILE")):
        if given:  # where somebody keeps packages and data says nothing about a number
            found["command"] = str(found["command"]).replace(str(given), word)
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if found["cores"] != 1:
        print("not pinned: run it under taskset -c 0", file=sys.stderr)
    made = []
    for result in contests(options, sizes, seconds):
        judge(result)
        progress("")
        show(result)
        made.append(asdict(result) | {"ratios": result.ratios})
    found["load at the end"] = os.getloadavg()
    found["seconds"] = round(time.perf_counter() - begin, 1)
    print(f"\n{found['seconds']} s, load at the end {found['load at the end']}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"setting": found, "results": made}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
