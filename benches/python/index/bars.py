"""What the search is to reach: a hold, which must be met, and a goal, by contest and peer.

A bar is how many times longer the peer takes. It is printed beside what was found and
fails nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benches.python.race import Result

REAL = {1_000: (3, 4), 10_000: (6.5, 8), 100_000: (16, 22), 1_000_000: (9, 14)}
ISOTROPIC = {1_000: (2.5, 3.5), 10_000: (4, 4.9), 100_000: (4, 5), 1_000_000: (3.3, 3.8)}
GRAPH = {1_000: (1, 1), 10_000: (1, 1), 100_000: (1 / 1.7, 1)}
CONVENIENT = {
    "sqlite-vec": 100, "lancedb": 150, "qdrant local": 160, "a loop in Python": 5_000,
}  # fmt: skip
INSERTS = 40  # of hnswlib, for one of ours
INSERT = 5.0  # microseconds a row


def wanted(name: str, peer: str) -> tuple[float, float] | None:
    """Give hold and goal of a contest against a peer."""
    if name.startswith("convenience"):
        bar = CONVENIENT.get(peer)
        return bar and (bar, bar)
    kind, size = re.fullmatch(r"(.+) ([\d,]+)", name).groups()
    size = int(size.replace(",", ""))
    size = 100_000 if 50_000 < size < 100_000 else size  # as many real ones as there are
    bars = {
        ("like", "faiss flat"): REAL,
        ("real", "faiss flat"): REAL,
        ("isotropic", "faiss flat"): ISOTROPIC,
        ("batch of 64, like", "faiss flat"): {100_000: (18, 40)},
        ("batch of 64, like", "numpy"): {100_000: (9, 15)},
        ("like", "faiss PQ + refine"): {10_000: (1.3, 1.8), 100_000: (1.3, 1.8)},
        ("like", "hnswlib"): GRAPH,
    }
    return bars.get((kind, peer), {}).get(size)


def said(found: float, hold: float, goal: float) -> str:
    """Put a bar and what was found into words."""
    how = "goal met" if found >= goal else "held" if found >= hold else "MISSED"
    return f"{how} ({found:,.2f}; hold {hold:,.2f}, goal {goal:,.2f})"


def judge(result: Result) -> None:
    """Note beside each ratio that has a bar whether it was met."""
    if result.name.startswith("filters"):
        saved = all(ratio < 1 for ratio in result.ratios.values())
        result.notes["bar of all rows"] = "each filter costs less" if saved else "MISSED"
        return
    for peer, ratio in result.ratios.items():
        if (bar := wanted(result.name, peer)) is not None:
            result.notes[f"bar of {peer}"] = said(ratio, *bar)
    ours, theirs = (result.notes.get(f"µs an insert of {one}") for one in ("warmset", "hnswlib"))
    if ours:
        result.notes["bar of inserts"] = (
            f"{'met' if ours <= INSERT else 'MISSED'} (at most {INSERT})"
        )
    if ours and theirs:
        result.notes["inserts, hnswlib / ours"] = said(theirs / ours, INSERTS, INSERTS)
