"""What starting costs: processor time of imports and of `warmset --help`, over a bare interpreter.

    taskset -c 0 python -m benches.python.startup [--runs N] [--json FILE] [--hold]

Each line is started so many times, in turn with the others, in a process of its own; the figures
are medians of user and system time together. With --hold the command fails where a bar is crossed:
15 ms for `import warmset`, 120 ms above numpy for `from warmset import Memory, fit`, and 250 ms for
`warmset --help`, the interpreter included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benches.python.setting import setting

IMPORT, NUMPY, USED, HELP = (
    "import warmset",
    "import numpy",
    "from warmset import Memory, fit",
    "help",
)
LINES = {
    "bare": ["-c", "pass"],
    IMPORT: ["-c", IMPORT],
    NUMPY: ["-c", NUMPY],
    USED: ["-c", USED],
    HELP: ["-m", "warmset", "--help"],
}
BARS = {IMPORT: 15.0, USED: 120.0, HELP: 250.0}
"""Milliseconds."""

SILENT = "import sys, warmset; sys.exit('numpy' in sys.modules or 'warmset._core' in sys.modules)"


def started(arguments: list[str]) -> float:
    """Run the interpreter, and return its processor time in milliseconds."""
    process = subprocess.Popen(  # noqa: S603 - our own lines
        [sys.executable, *arguments], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return (used.ru_utime + used.ru_stime) * 1000


def measured(runs: int) -> dict[str, float]:
    """Return what each line costs: medians in milliseconds."""
    for arguments in LINES.values():
        started(arguments)  # bytecode is written once
    found: dict[str, list[float]] = {name: [] for name in LINES}
    for _ in range(runs):
        for name, arguments in LINES.items():
            found[name].append(started(arguments))
    return {name: median(values) for name, values in found.items()}


def figures(costs: dict[str, float]) -> dict[str, float]:
    """Return what is held against the bars."""
    return {
        IMPORT: costs[IMPORT] - costs["bare"],
        USED: costs[USED] - costs[NUMPY],
        HELP: costs[HELP],
    }


def main() -> int:
    """Measure, print, and judge if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--hold", action="store_true", help="fail where a bar is crossed")
    options = parser.parse_args()
    subprocess.run([sys.executable, "-c", SILENT], check=True)  # noqa: S603 - our own line
    costs = measured(options.runs)
    found = figures(costs)
    for name, value in costs.items():
        print(f"{name:32} {value:7.1f} ms")
    for name, value in found.items():
        print(f"{name:32} {value:7.1f} ms, bar {BARS[name]:.0f}")
    if options.json:
        made: dict[str, Any] = {"setting": setting(), "costs": costs, "figures": found}
        options.json.write_text(json.dumps(made, indent=1) + "\n")
    crossed = [name for name, value in found.items() if value > BARS[name]]
    if options.hold and crossed:
        print(f"over the bar: {', '.join(crossed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
