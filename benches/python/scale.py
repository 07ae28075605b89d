"""How calls grow with a store: times and memory at some sizes, and the slopes.

    taskset -c 0 python -m benches.python.scale [--sizes N...] [--json FILE] [--svg FILE] [--hold]

A store has one conversation of a tenth of its turns, 10,000 at most, and further ones of 1,000; a
function makes vectors of 32 dimensions. Each size is measured in processes of its own, whose
figures are medians of milliseconds, and bytes of anonymous memory a turn. The slope is the power of
the number of turns that a time grows with, between the smallest and the largest store: 0 where the
size makes no difference, 1 where a call looks at all turns. With --hold the command fails where a
bar of the largest size is crossed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

# One thread, before numpy starts more.
from benches.python.setting import setting

# isort: split
import numpy as np

from benches.python.race import check
from warmset import Memory
from warmset.embed import FunctionEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES: Final = (1_000, 10_000, 100_000)
DIM: Final = 32
OTHERS: Final = 1_000
"""Messages of a conversation besides the first one."""

LONGEST: Final = 10_000
"""Messages of the first one."""

WORDS: Final = [f"word{n}" for n in range(2_000)]
BATCH: Final = 500

BARS: Final = {100_000: ("open", 100.0), 1_000_000: ("open", 400.0)}
"""By the number of turns: a call, and its milliseconds."""

ALL: Final = ("open without files", "erase")
"""Calls that may cost all turns."""


def _row(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIM)
    return made.astype(np.float32)


EMBEDDER: Final = FunctionEmbedder(
    lambda texts: np.stack([_row(text) for text in texts]), name="numbers of words"
)


def opened(place: Path) -> Memory:
    """Open a store for measuring."""
    return Memory.open(place, embedder=EMBEDDER, durability="os")


def talk(seed: int, count: int) -> list[dict[str, str]]:
    """Return messages of some thirty words."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(WORDS), (count, 30))
    return [
        {"role": ("user", "assistant")[at % 2], "content": " ".join(WORDS[n] for n in row)}
        for at, row in enumerate(rows.tolist())
    ]


def longest(size: int) -> int:
    """Return the messages of the first conversation of a store."""
    return min(size // 10, LONGEST)


def built(place: Path, size: int) -> None:
    """Make a store of so many turns, with its vectors and its files."""
    with opened(place) as memory:
        left, number = size, 0
        while left:
            count = min(longest(size) if not number else OTHERS, left)
            log = memory.conversation(f"talk {number}")
            for at in range(0, count, BATCH):
                log.append(talk(number * LONGEST + at, min(BATCH, count - at)))
            left, number = left - count, number + 1
            memory.flush()
        memory._engine.index.save()  # noqa: SLF001 - of all, where `close` leaves the last hundredth


def anonymous() -> int:
    """Return the bytes of this process that no file backs."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) << 10
    raise SystemExit("this system does not tell how much memory is anonymous")


def timed(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the median of the milliseconds of some calls."""
    times: list[float] = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return median(times)


def measured(place: Path, size: int) -> dict[str, float]:
    """Measure the calls on a store that this process opens for the first time."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as small:
        small.conversation("warm").append(talk(1, 4))  # everything is imported
        small.conversation("warm").window("word1?", budget=500)
        small.search("word2", k=3)
    before = anonymous()
    begun = time.perf_counter()
    memory = opened(place)
    found = {"open": (time.perf_counter() - begun) * 1e3}
    found["bytes a turn, nothing touched"] = (anonymous() - before) / size
    check(memory.stats()["index"]["source"] == "file", "the index is in its file")
    log = memory.conversation("talk 0")
    queries = iter([f"What of {one} and {other}?" for one, other in zip(WORDS, WORDS[7:])])  # noqa: B905
    before = anonymous()
    found["first window"] = timed(lambda: log.window(next(queries), budget=4_000), 1)
    found["bytes a turn, one in use"] = (anonymous() - before) / longest(size)
    check(len(log) == longest(size), "every turn is there")
    found["later window"] = timed(lambda: log.window(next(queries), budget=4_000), 9)
    found["steady window"] = timed(lambda: log.window(budget=4_000, mode="steady"))
    found["search"] = timed(lambda: memory.search(next(queries), k=10), 9)
    found["append"] = timed(lambda: log.append(talk(3, 1)), 9)
    found["remember"] = timed(lambda: memory.remember(next(queries)))
    kept = log.messages()
    found["first sync"] = timed(lambda: log.sync(kept), 1)
    found["sync, kept"] = timed(lambda: log.sync(kept))
    fresh = json.dumps(kept)
    found["sync, fresh"] = timed(lambda: log.sync(json.loads(fresh)))
    found["messages"] = timed(log.messages)
    found["fetch"] = timed(lambda: log.fetch(log.ids[-1]))
    found["stats"] = timed(memory.stats)
    found["conversations"] = timed(memory.conversations)
    found["pop"] = timed(lambda: log.pop(1))
    found["close"] = timed(memory.close, 1)
    found["open, append, close"] = timed(lambda: _turn(place))
    with opened(place) as memory:
        log = memory.conversation("talk 0")
        memory.flush()
        found["pop, forgotten"] = timed(lambda: log.pop(1, forget=True), 3)
        found["erase"] = timed(lambda: memory.erase(ids=[log.ids[-1]]), 1)
    for name in ("index", "turns"):
        (place / name).unlink(missing_ok=True)
    begun = time.perf_counter()
    with opened(place):
        found["open without files"] = (time.perf_counter() - begun) * 1e3
    return found


def _turn(place: Path) -> None:
    with opened(place) as memory:
        memory.conversation("talk 0").append(talk(4, 1))


def slope(times: Sequence[tuple[int, float]]) -> float:
    """Return the power of n that times grow with, from the first to the last."""
    (small, one), (large, other) = times[0], times[-1]
    return math.log(max(other, 1e-3) / max(one, 1e-3)) / math.log(large / small)


def chart(found: dict[int, dict[str, float]]) -> str:
    """Draw times over sizes, both in powers of ten."""
    sizes = list(found)
    names = [name for name in found[sizes[0]] if not name.startswith("bytes")]
    width, height, left, low, high = 760, 460, 60, -2.0, 5.0
    span = math.log10(sizes[-1] / sizes[0]) or 1.0
    style = (
        "svg{color:#1f2328;background:#ffffff;font:12px sans-serif}"
        "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}"
    )
    box = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}"}
    svg = ET.Element("svg", box, role="img")
    ET.SubElement(svg, "title").text = "Milliseconds of calls by the number of turns"
    ET.SubElement(svg, "style").text = style

    def place(size: int, time_: float) -> tuple[float, float]:
        x = left + (math.log10(size / sizes[0]) / span) * (width - left - 220)
        return x, height - 40 - (math.log10(max(time_, 1e-2)) - low) / (high - low) * (height - 70)

    for power in range(int(low), int(high) + 1):
        _, y = place(sizes[0], 10.0**power)
        line = {"x1": left, "x2": width - 220, "y1": y, "y2": y, "stroke": "currentColor"}
        ET.SubElement(svg, "line", {k: f"{v}" for k, v in line.items()}, opacity="0.15")
        _text(svg, left - 6, y + 4, f"{10.0**power:g} ms", "end")
    for size in sizes:
        _text(svg, place(size, 1e-2)[0], height - 18, f"{size:,} turns", "middle")
    ends: list[float] = []
    order = sorted(names, key=lambda name: found[sizes[-1]][name])
    for at, name in enumerate(order):
        colour = f"hsl({360 * at // len(order)} 60% 50%)"
        points = [place(size, found[size][name]) for size in sizes]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        ET.SubElement(svg, "polyline", points=path, fill="none", stroke=colour)
        x, y = points[-1]
        while any(abs(y - other) < 13 for other in ends):
            y -= 1
        ends.append(y)
        _text(svg, x + 8, y + 4, name, "start", colour)
    return ET.tostring(svg, "unicode") + "\n"


def _text(
    svg: ET.Element, x: float, y: float, said: str, anchor: str, colour: str = "currentColor"
) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "fill": colour}
    ET.SubElement(svg, "text", place).text = said


def table(found: dict[int, dict[str, float]]) -> str:
    """Return the figures as a table."""
    sizes = list(found)
    rows = [f"{'':32}" + "".join(f"{size:>12,}" for size in sizes) + "   slope"]
    for name in found[sizes[0]]:
        values = [(size, found[size][name]) for size in sizes]
        power = f"{slope(values):8.2f}" if len(sizes) > 1 else ""
        rows.append(f"{name:32}" + "".join(f"{value:12.2f}" for _, value in values) + power)
    return "\n".join(rows)


def main() -> int:
    """Build, measure, print, and judge if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--hold", action="store_true", help="fail where a bar is crossed")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(measured(options.child, options.sizes[0])))
        return 0
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            place = Path(folder) / f"{size}"
            built(place, size)
            command = [sys.executable, "-m", "benches.python.scale", "--child", str(place)]
            done = subprocess.run(  # noqa: S603 - ourselves
                [*command, "--sizes", str(size)], check=True, capture_output=True, text=True
            )
            found[size] = json.loads(done.stdout.splitlines()[-1])
            print(f"{size:,} turns are measured", file=sys.stderr)
    print(table(found))
    if options.json:
        made = {"setting": setting(), "figures": {f"{size}": one for size, one in found.items()}}
        options.json.write_text(json.dumps(made, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(chart(found))
    crossed = [
        f"{name} at {size:,}: {found[size][name]:.0f} ms, bar {bar:.0f}"
        for size, (name, bar) in BARS.items()
        if size in found and found[size][name] > bar
    ]
    for one in crossed if options.hold else ():
        print(f"over the bar: {one}", file=sys.stderr)
    return int(options.hold and bool(crossed))


if __name__ == "__main__":
    sys.exit(main())
