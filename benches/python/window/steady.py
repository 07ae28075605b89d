"""What a window takes at an exchange's first call: mode "steady", written to disk, beside "jit".

``python -m benches.python.window.steady [--messages 2000] [--place DIR] [--json FILE]``

Both have the same conversation, in one store on disk, and take turns. Each call finds a question
and the reply to the one before as new; the steady list is recorded before it is returned. It is
checked that the list begins with the last one, unless a new epoch began, and that it was recorded.
"""

from __future__ import annotations

from benches.python import material, setting  # isort: skip - threads are set before numpy loads

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from warmset import Memory
from warmset.embed import FunctionEmbedder

BUDGET = 32_000
WARM_UP = 3
MODES = ("jit", "steady")


def called(conversation, mode):
    """Make a window; return it and the milliseconds that it took."""
    start = time.perf_counter()
    made = conversation.window(budget=BUDGET, mode=mode)
    return made, (time.perf_counter() - start) * 1e3


def checked(made, before):
    """Assert that a list goes on with the one before; return whether a new epoch began."""
    assert made.tokens <= BUDGET
    assert made.report.epoch.unrecorded is None
    if made.report.epoch.began:
        return True
    assert made.messages[: len(before)] == before
    assert len(made.messages) > len(before)
    return False


def measured(embedder, messages, rounds, place=None):
    """Return the milliseconds of each window, by mode; swaps by themselves."""
    said = material.conversation(messages + 2 * rounds)
    found = {"jit": [], "steady": [], "steady, a new epoch": []}
    recalled, before = 0, []
    with (
        tempfile.TemporaryDirectory(dir=place) as store,
        Memory.open(store, embedder=embedder) as memory,
    ):
        talks = {mode: memory.conversation(mode) for mode in MODES}
        for talk in talks.values():
            talk.append(said[:messages])
        assert memory.flush(600)
        for at in range(rounds):
            new = said[messages + 2 * at - 1 :][:2]  # a reply, and a question
            for talk in talks.values():
                talk.append(new)
            assert memory.flush(600)
            for mode in MODES if at % 2 else MODES[::-1]:
                made, took = called(talks[mode], mode)
                assert made.messages[-1]["content"] == new[-1]["content"]
                name = mode
                if mode == "steady":
                    name = "steady, a new epoch" if checked(made, before) else mode
                    before, recalled = made.messages, recalled + bool(made.report.epoch.recalled)
                if at >= WARM_UP:
                    found[name].append(took)
    assert recalled > rounds // 4, "little was recalled"
    return found


def row(times):
    """Return the figures of some calls."""
    ordered = sorted(times)
    middle = statistics.median(ordered)
    return {"calls": len(ordered), "p50 ms": middle, "p95 ms": ordered[int(len(ordered) * 0.95)]}


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--place", type=Path, help="where the store is written")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    embedders = {"words": "lexical", "vectors": FunctionEmbedder(material.hashed, dim=material.DIM)}
    results = {}
    for name, embedder in embedders.items():
        found = measured(embedder, options.messages, options.rounds, options.place)
        results[name] = {mode: row(times) for mode, times in found.items() if times}
        ratio = results[name]["steady"]["p50 ms"] / results[name]["jit"]["p50 ms"]
        for mode, figures in results[name].items():
            p50, p95 = figures["p50 ms"], figures["p95 ms"]
            print(f"{name:8} {mode:20} {figures['calls']:4} p50 {p50:.3f} ms p95 {p95:.3f} ms")
        results[name]["steady / jit"] = ratio
        print(f"{name:8} steady / jit {ratio:.2f}")
    if options.json is not None:
        written = {"setting": setting.setting(), "budget": BUDGET, "messages": options.messages}
        options.json.write_text(json.dumps(written | {"results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
