"""How searches are timed: in turns, each contestant's calls spread over the whole contest.

Also how fast this core reads memory in a row, which is what a scan cannot beat.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benches.python.race import Result
from warmset.lab.bench import timing

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGIN = time.perf_counter()


def progress(what: str) -> None:
    """Say what is being done, on one line that is written over."""
    seconds = time.perf_counter() - _BEGIN
    print(f"\r\033[K{seconds:5.0f} s  {what}", end="", file=sys.stderr, flush=True)


def turns(name: str, calls: dict[str, Callable[[int], object]], seconds: float) -> Result:
    """Let contestants take turns; each call gets a number.

    A turn is a few calls, and one more before them that is not counted: it pays for what the one
    before left in the caches. Calls that take long come one at a time, and all count. Who goes
    first changes from round to round.

    Args:
        name: The contest's name.
        calls: What to call, ours first.
        seconds: About how long it may take; there are never fewer than three rounds.

    Returns:
        The medians; among the notes, the fastest call and the 95th percentile of each.
    """
    times = timing.turns(
        calls, seconds, progress=lambda done, of: progress(f"{name}: round {done + 1} of {of}")
    )
    progress("")
    ours = next(iter(calls))
    result = Result(name, {one: median(found) for one, found in times.items()}, len(times[ours]))
    for one, found in times.items():
        result.notes[f"min of {one}"] = min(found)
        result.notes[f"p95 of {one}"] = float(np.quantile(found, 0.95))
    return result


class Memory:
    """Reading so many bytes in a row, over and over: the greatest of float32, and a dot product.

    Of numpy's loops these two read fastest; the faster of the two is the bandwidth. Both stand in a
    contest beside the scan that they are a measure of, so that all see the same machine.
    """

    def __init__(self, size: float) -> None:
        self.size = int(size) // 4 * 4
        self._values = np.ones(self.size // 4, np.float32)

    def calls(self) -> dict[str, Callable[[int], object]]:
        """Give both, to stand among contestants."""
        values = self._values
        return {"read: max": lambda _: values.max(), "read: dot": lambda _: values @ values}

    def note(self, result: Result) -> None:
        """Take both out of a result, and note the bandwidth and a scan's share of it."""
        ours = next(iter(result.microseconds))
        reads = [result.microseconds.pop(one) for one in self.calls()]
        fastest = [float(result.notes.pop(f"min of {one}")) for one in self.calls()]
        for one in self.calls():
            del result.notes[f"p95 of {one}"]
        read, scan = self.size / min(reads) / 1e3, self.size / result.microseconds[ours] / 1e3
        at_best = self.size / min(fastest) / 1e3
        result.notes["GB/s read in a row"] = read
        result.notes["GB/s of the scan"] = scan
        result.notes["share of the bandwidth"] = scan / read
        best = self.size / float(result.notes[f"min of {ours}"]) / 1e3
        result.notes["share of it, fastest calls"] = best / at_best
