"""Turnover: conversations come and go over a constant live set; nothing may grow.

``python -m benches.python.store.turnover [--minutes 60] [--live 24] [--json FILE] [--svg FILE]``

Each step appends an exchange to one of the live conversations and builds a window for it; one that
is long enough is the next to be erased, and another begins under a new name. So records of many
conversations lie between each other, as they do in a server's store. The memory is closed and
opened again now and then. Every few seconds, after an erasure, the process's resident memory, its
open files and maps, and the store's bytes are taken. Growth is the median of the last quarter less
that of the first quarter after the warm-up, for each turn that was appended between them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benches.python.setting import setting
from warmset import Memory

WORDS = [a + b for a in ("ka", "lo", "mi", "ne", "su") for b in ("ren", "dal", "pik", "mus")]
DIM = 64
BARS = {"rss_kb_a_turn": 0.05, "fds": 0, "maps": 0, "bytes_a_live_turn": 0.02}
"""The most that each may grow: kilobytes a turn, files, maps, and a share of the bytes."""


@dataclass(frozen=True)
class Sample:
    """The process and its store at a moment."""

    seconds: float
    turns: int
    erased: int
    live: int
    rss_kb: int
    fds: int
    maps: int
    store_bytes: int


class Vectors:
    """Vectors of a text's words, without a model."""

    name, fingerprint, dim, remote = "words", "turnover-words", DIM, False

    def split(self, text):
        return [text]

    def embed(self, texts):
        rows = np.stack([self._row(text) for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    embed_query = embed

    def _row(self, text):
        seeds = [hash(word) % 1_000 for word in text.split()] or [0]
        return np.random.default_rng(seeds[:8]).standard_normal(DIM).astype(np.float32)


class Turnover:
    """The live conversations of one memory, and what became of the others."""

    def __init__(self, path: Path, options: argparse.Namespace) -> None:
        self.path, self.options = path, options
        self.random = random.Random(options.seed)  # noqa: S311 - a workload, not a secret
        self.turns = self.erased = self.begun = self.opened = 0
        self.live: dict[str, int] = {}
        self.memory = self._open()
        self.start = time.perf_counter()

    def _open(self) -> Memory:
        self.opened += 1
        embedder = "lexical" if self.options.lexical else Vectors()
        encryption = "keys" if self.options.encrypted else None
        return Memory.open(self.path, embedder=embedder, encryption=encryption)

    def step(self) -> bool:
        """Make one exchange; tell whether a conversation was erased."""
        while len(self.live) < self.options.live:
            self.begun += 1
            # Of different ages from the start, so that erasures are spread over the run.
            self.live[f"conversation {self.begun}"] = 0
        name = self.random.choice(list(self.live))
        words = " ".join(self.random.choices(WORDS, k=30)) + f" {self.turns}"
        one = self.memory.conversation(name)
        one.append([{"role": "user", "content": words}, {"role": "assistant", "content": words}])
        self.live[name] += 2
        self.turns += 2
        window = one.window(budget=600)
        assert window.messages, "a window is never empty"
        if self.live[name] < self.options.turns:
            return False
        self.memory.erase(conversation=name)
        del self.live[name]
        self.erased += 1
        if self.erased % self.options.reopen == 0:
            self.memory.close()
            self.memory = self._open()
        return True

    def sample(self) -> Sample:
        """Measure."""
        assert self.memory.flush(60)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        sizes = (one.stat().st_size for one in self.path.rglob("*") if one.is_file())
        return Sample(
            seconds=round(time.perf_counter() - self.start, 1),
            turns=self.turns,
            erased=self.erased,
            live=sum(self.live.values()),
            rss_kb=pages * os.sysconf("SC_PAGE_SIZE") // 1024,
            fds=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names alone, while they are open
            maps=maps.count(str(self.path)),
            store_bytes=sum(sizes),
        )


def growth(samples: list[Sample], warm: float) -> dict[str, float]:
    """Compare the last quarter with the first one after the warm-up."""
    after = [one for one in samples if one.seconds >= warm] or samples
    quarter = max(1, len(after) // 4)
    first, last = after[:quarter], after[-quarter:]

    def middle(part: list[Sample], name: str) -> float:
        return median(getattr(one, name) for one in part)

    def a_turn(part: list[Sample]) -> float:
        return median(one.store_bytes / max(1, one.live) for one in part)

    turns = middle(last, "turns") - middle(first, "turns")
    return {
        "turns": turns,
        "rss_kb": middle(last, "rss_kb") - middle(first, "rss_kb"),
        "rss_kb_a_turn": (middle(last, "rss_kb") - middle(first, "rss_kb")) / max(1, turns),
        "fds": middle(last, "fds") - middle(first, "fds"),
        "maps": middle(last, "maps") - middle(first, "maps"),
        "bytes_a_live_turn": a_turn(last) / a_turn(first) - 1,
    }


def draw(samples: list[Sample]) -> str:
    """Draw the three lines that must be flat."""
    lines = {
        "resident memory, MB": [one.rss_kb / 1024 for one in samples],
        "open files": [float(one.fds) for one in samples],
        "bytes a live turn": [one.store_bytes / max(1, one.live) for one in samples],
    }
    head = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 480" font-size="13"'
    out = [f'<svg {head} font-family="system-ui,sans-serif">']
    span = samples[-1].seconds or 1.0
    for at, (name, values) in enumerate(lines.items()):
        top, most = 30 + at * 150, max(values) or 1.0
        places = " ".join(
            f"{60 + 640 * one.seconds / span:.1f},{top + 100 - 100 * value / most:.1f}"
            for one, value in zip(samples, values, strict=True)
        )
        out += [
            f'<text x="60" y="{top - 8}">{name}: {values[0]:.1f} to {values[-1]:.1f}</text>',
            f'<path d="M60 {top + 100}H700" stroke="#8c959f"/>',
            f'<polyline points="{places}" fill="none" stroke="#c2410c"/>',
        ]
    note = f"{span / 60:.0f} minutes, {samples[-1].turns:,} turns, {samples[-1].erased:,} erased"
    return "\n".join([*out, f'<text x="60" y="474">{note}</text>', "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--warm", type=float, help="minutes before growth counts")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--live", type=int, default=24, help="conversations at a time")
    parser.add_argument("--turns", type=int, default=16, help="turns of a conversation")
    parser.add_argument("--reopen", type=int, default=50, help="erasures between two openings")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lexical", action="store_true", help="without vectors")
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    warm = options.warm if options.warm is not None else options.minutes / 6
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="warmset-turnover-") as place:
        run = Turnover(Path(place), options)
        due = 0.0
        while (now := time.perf_counter() - run.start) < options.minutes * 60:
            if run.step() and now >= due:
                samples.append(run.sample())
                due = now + options.every
                print(json.dumps(asdict(samples[-1])), flush=True)
        run.memory.close()
    found = growth(samples, warm * 60)
    print(json.dumps(found))
    if options.json:
        whole = {"setting": setting(), "growth": found, "samples": [*map(asdict, samples)]}
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    if options.svg:
        options.svg.write_text(draw(samples), encoding="utf-8")
    over = [name for name, most in BARS.items() if found[name] > most]
    if over:
        print(f"more than allowed: {', '.join(over)}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
