"""The store of this build beside that of another one: appends, reads, opening, in processor time.

    taskset -c 0 python -m benches.python.store.before --other DIR/python --pairs 15 --json FILE

`--other` is the folder `python` of a checkout in which an extension was built. Each pair is a
process of each build, in turns of who is first; both use the same records and check what they read.
A figure is the median of the pairs' ratios, ours over the other's: above 1, this build is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benches.python.setting import ROOT, file_system, setting

COUNT, BATCH, BATCHES, READS = 4_000, 1_000, 100, 20_000
PAYLOADS = [at.to_bytes(4, "big") * 256 for at in range(BATCH)]
KEY = [b"tenant", b"conversation"]


def child(place: Path) -> dict[str, float]:
    """Measure the build on the path: microseconds of the processor a call."""
    from warmset.native import ColdStore  # noqa: PLC0415 - of either build

    def took(begin: int, calls: int) -> float:
        return (time.process_time_ns() - begin) / 1e3 / calls

    found = {}
    rows = [[("turn", KEY, b"m", payload)] for payload in PAYLOADS]
    together = [row for [row] in rows]
    for mode in ("shared", "exclusive"):
        store = ColdStore.open(place / mode, durability="os", mode=mode)
        begin = time.process_time_ns()
        for at in range(COUNT):
            store.append(rows[at % BATCH])
        found[f"append, {mode}"] = took(begin, COUNT)
        begin = time.process_time_ns()
        for _ in range(BATCHES):
            store.append(together)
        found[f"append of {BATCH:,}, {mode}"] = took(begin, BATCHES)
        assert store.verify()["records"] == COUNT + BATCHES * BATCH
        store.close()
    path = place / "read"
    store = ColdStore.open(path, durability="os", segment_bytes=16 << 20)
    for _ in range(100):
        store.append(together)
    store.close()
    for read in ("map", "pread"):
        store = ColdStore.open(path, read=read)
        ids = [1 + at * 7_919 % 90_000 for at in range(READS)]
        assert all(store.get(seq).payload == PAYLOADS[(seq - 1) % BATCH] for seq in ids[:1_000])
        begin = time.process_time_ns()
        for seq in ids:
            store.get(seq)
        found[f"read, {read}"] = took(begin, READS)
        store.close()
    begin = time.process_time_ns()
    for _ in range(60):
        store = ColdStore.open(path)
        store.close()
    found["open and close, 100,000 records"] = took(begin, 60)
    return found


def one(python: Path, base: Path) -> dict[str, float]:
    """Run a build in a process of its own."""
    with tempfile.TemporaryDirectory(dir=base) as place:
        path = os.pathsep.join([str(python), str(ROOT)])
        done = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "benches.python.store.before", "--child", place],
            env=os.environ | {"PYTHONPATH": path},
            cwd=base,
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(done.stdout)


def main() -> None:
    """Run the pairs, print the ratios, write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="the folder python of the other checkout")
    parser.add_argument("--name", default="unnamed", help="the commit of the other one")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child)))
        return
    own, other = ROOT / "python", options.other.resolve()
    pairs = []
    with tempfile.TemporaryDirectory(dir=options.place) as name:
        place = Path(name)
        where = file_system(place)
        for at in range(options.pairs):
            builds = [own, other] if at % 2 else [other, own]
            found = {build: one(build, place) for build in builds}
            pairs.append((found[own], found[other]))
    results = {}
    for name in pairs[0][0]:
        ratios = sorted(ours[name] / theirs[name] for ours, theirs in pairs)
        results[name] = {
            "ratio": median(ratios),
            "quartiles": [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]],
            "ratio of the least": min(p[0][name] for p in pairs) / min(p[1][name] for p in pairs),
            "µs": median(ours[name] for ours, _ in pairs),
            "µs of the other": median(theirs[name] for _, theirs in pairs),
        }
        print(f"{name:35}", results[name])
    if options.json:
        said = {"setting": setting(()) | {"other": options.name, "file system": where}}
        text = json.dumps(said | {"results": results}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
