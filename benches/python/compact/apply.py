"""How long the budget takes: swaps of a prepared summary in a conversation of 10,000 turns.

Each step of an agent appends two turns and makes a window of mode "full". The summary is written
between the steps, as a thread would, so what is timed is the window alone. Printed are the windows
that applied, the windows that did not, and how many model calls were made within any of them.

    taskset -c 0 python -m benches.python.compact.apply [--turns N] [--budget N] [--swaps N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from benches.python import material, setting
from warmset import Memory, PreparedCompaction, validate
from warmset.summarize import HEADING


class Between:
    """A worker whose tasks run between the windows."""

    def __init__(self):
        self.tasks = []

    def start(self, task):
        self.tasks.append(task)
        return self

    def wait(self, _seconds):
        return False

    def run(self):
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=32_000)
    parser.add_argument("--swaps", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    asked, inside, in_window = 0, 0, False

    def summary(messages, *, max_tokens):  # noqa: ARG001 - a summarizer's
        nonlocal asked, inside
        asked += 1
        inside += in_window
        return f"Summary {asked}, of {len(messages)} messages more."

    worker = Between()
    policy = PreparedCompaction(summarizer=summary, worker=worker, carry_tokens=0)
    turns = material.conversation(20_000)
    swaps, others, sizes = [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(folder, embedder="lexical", durability="os", compaction=policy) as memory,
    ):
        log = memory.conversation("log")
        log.append(turns[: options.turns])
        at = options.turns
        while len(swaps) < options.swaps:
            log.append([turns[(at + more) % len(turns)] for more in range(2)])
            at += 2
            in_window, begun = True, time.perf_counter()
            window = log.window(mode="full", budget=options.budget)
            took, in_window = time.perf_counter() - begun, False
            assert window.tokens <= options.budget
            told = window.report.compaction
            if told.applied:
                assert told.left_out == 0
                assert sum(HEADING in str(m["content"]) for m in window.messages) == 1
                assert validate(window.messages) == []
                swaps.append(took)
                sizes.append(len(window.messages))
            elif told.boundary:
                others.append(took)
            worker.run()
        stored = len(log)
    assert inside == 0, "no model is called on the way"

    def quantile(times, share):
        return sorted(times)[min(int(len(times) * share), len(times) - 1)] * 1e3

    figures = {
        "turns": [options.turns, stored],
        "budget": options.budget,
        "swaps": len(swaps),
        "messages after a swap": sum(sizes) / len(sizes),
        "swap ms": {name: quantile(swaps, q) for name, q in (("p50", 0.5), ("p99", 0.99))},
        "other windows ms": {
            name: quantile(others, q) for name, q in (("p50", 0.5), ("p99", 0.99))
        },
        "model calls within windows": inside,
        **setting.setting(),
    }
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
