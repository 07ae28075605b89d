"""The store of this build beside that of another one: appends, reads, opening, in processor time.

    taskset -c 0 python -m benches.python.store.before --other DIR/python --json FILE

`--other` is the folder `python` of a checkout in which an extension was built. Both extensions are
loaded into one process, and their calls take turns, so that both meet the processor as fast as it
is at the time. Both use the same records and check what they read. A figure is the median of the
pairs' ratios, ours over the other's: above 1, this build is slower.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import ExitStack
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benches.python.setting import file_system, setting
from warmset import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

BATCH, READS = 1_000, 20_000
PAYLOADS = [at.to_bytes(4, "big") * 256 for at in range(BATCH)]
ROWS = [("turn", [b"tenant", b"conversation"], b"m", payload) for payload in PAYLOADS]
IDS = [1 + at * 7_919 % 90_000 for at in range(READS)]


def other_core(python: Path) -> ModuleType:
    """Load the extension of another checkout; it raises the errors of this one."""
    found = sorted(python.glob("warmset/_core*.so"))
    spec = spec_from_file_location(_core.__name__, found[0]) if found else None
    if spec is None or spec.loader is None:
        raise SystemExit(f"no extension was built in {python}")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def took(call: Callable[[int], object], at: int) -> float:
    """Microseconds of the processor that a call takes."""
    begin = time.thread_time_ns()
    call(at)
    return (time.thread_time_ns() - begin) / 1e3


def turns(name: str, calls: Sequence[Callable[[int], object]], count: int) -> dict[str, Any]:
    """Have our call and the other one take turns, each first half of the time, and compare them."""
    pairs = []
    for at in range(count):
        order = (0, 1) if at % 2 else (1, 0)
        times = {which: took(calls[which], at) for which in order}
        pairs.append((times[0], times[1]))
    # In the first ones buffers grow to the size that they keep.
    pairs = pairs[count // 5 :]
    ratios = sorted(ours / theirs for ours, theirs in pairs if theirs > 0)
    quarter = len(ratios) // 4
    found = {
        "ratio": median(ratios),
        "quartiles": [ratios[quarter], ratios[-1 - quarter]],
        "µs": median(ours for ours, _ in pairs),
        "µs of the other": median(theirs for _, theirs in pairs),
        "pairs": len(pairs),
    }
    print(
        f"{name:35} x {found['ratio']:.3f}   {found['µs']:10.2f} µs, quartiles",
        *(f"{one:.2f}" for one in found["quartiles"]),
    )
    return found


def opened(stack: ExitStack, builds: Sequence[Any], paths: Sequence[Path], **how: str) -> list[Any]:
    """Open a store of each build."""
    both = zip(builds, paths, strict=True)
    return [stack.enter_context(build.ColdStore.open(path, **how)) for build, path in both]


def appends(builds: Sequence[Any], places: Sequence[Path], mode: str) -> dict[str, Any]:
    """Append records one by one, and many at once."""
    with ExitStack() as stack:
        paths = [place / mode for place in places]
        stores = opened(stack, builds, paths, durability="os", mode=mode)
        one = [lambda at, s=s: s.append([ROWS[at % BATCH]]) for s in stores]
        many = [lambda _, s=s: s.append(ROWS) for s in stores]
        names = f"append, {mode}", f"append of {BATCH:,}, {mode}"
        found = {names[0]: turns(names[0], one, 8_000), names[1]: turns(names[1], many, 200)}
        assert {s.verify()["records"] for s in stores} == {8_000 + 200 * BATCH}
    return found


def reads(builds: Sequence[Any], places: Sequence[Path]) -> dict[str, Any]:
    """Read records of a store of 100,000, and open it."""
    paths = [place / "read" for place in places]
    for build, path in zip(builds, paths, strict=True):
        with build.ColdStore.open(path, durability="os", segment_bytes=16 << 20) as store:
            for _ in range(100):
                store.append(ROWS)
    found = {}
    for read in ("map", "pread"):
        with ExitStack() as stack:
            stores = opened(stack, builds, paths, read=read)
            for store in stores:
                assert all(store.get(id_).payload == PAYLOADS[(id_ - 1) % BATCH] for id_ in IDS)
            calls = [lambda at, s=s: s.get(IDS[at]) for s in stores]
            found[f"read, {read}"] = turns(f"read, {read}", calls, READS)
    both = zip(builds, paths, strict=True)
    calls = [lambda _, b=build, p=path: b.ColdStore.open(p).close() for build, path in both]
    what = "open and close, 100,000 records"
    return found | {what: turns(what, calls, 200)}


def main() -> None:
    """Run the pairs, print the ratios, write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="its folder python")
    parser.add_argument("--name", default="unnamed", help="the commit of the other one")
    parser.add_argument("--place", type=Path, help="directory on the disk that is measured")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()
    builds: list[Any] = [_core, other_core(options.other)]
    with tempfile.TemporaryDirectory(dir=options.place) as name:
        where = file_system(Path(name))
        places = [Path(name) / "ours", Path(name) / "theirs"]
        results = {}
        for mode in ("shared", "exclusive"):
            results |= appends(builds, places, mode)
        results |= reads(builds, places)
    if options.json:
        said = {"setting": setting(()) | {"other": options.name, "file system": where}}
        text = json.dumps(said | {"results": results}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
