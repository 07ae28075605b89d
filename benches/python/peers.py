"""What others do for the same question, each behind a function of the same shape."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

K = 12
KILOBYTE = 1024


def exact(rows, query, k=K):
    """Rank by the canonical sum, by brute force: the answer that searches are checked against."""
    blocks = rows.reshape(len(rows), -1, 16)
    acc = np.zeros((len(rows), 16), np.float32)
    for block in range(blocks.shape[1]):
        acc = acc + blocks[:, block] * query[block * 16 : block * 16 + 16]
    for width in (8, 4, 2, 1):
        acc = acc[:, :width] + acc[:, width : 2 * width]
    order = np.lexsort((np.arange(len(rows)), -acc[:, 0]))[:k]
    return order, acc[order, 0]


def same_bits(found, rows, query, k=K):
    """Tell whether ids and the bits of scores are those of `exact`."""
    ids, scores = exact(rows, query, k)
    return np.array_equal(found[0], ids) and np.array_equal(
        found[1].view(np.uint32), scores.view(np.uint32)
    )


def near(found, rows, query, k=K):
    """Tell whether scores are the best ones, up to how a peer rounds its sums."""
    return np.allclose(np.sort(found[1])[::-1], exact(rows, query, k)[1], atol=1e-5)


def numpy_search(rows, query, k=K):
    """Multiply, partition, sort."""
    scores = rows @ query
    top = np.argpartition(scores, len(scores) - k)[-k:]
    top = top[np.argsort(-scores[top])]
    return top, scores[top]


def numpy_batch(rows, queries, k=K):
    """Do so for all queries with one matrix product."""
    scores = queries @ rows.T
    top = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    best = np.take_along_axis(scores, top, 1)
    order = np.argsort(-best, axis=1)
    return np.take_along_axis(top, order, 1), np.take_along_axis(best, order, 1)


def faiss_index(rows):
    """Build an exact index of faiss, on one thread; None where faiss is not installed."""
    try:
        import faiss  # noqa: PLC0415 - a peer
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index


def naive_pack(offsets, costs, values, budgets):
    """Choose greedily under each budget, as one writes it in Python."""
    chosen, ends = [], [0]
    for start, end, budget in zip(offsets[:-1], offsets[1:], budgets, strict=True):
        left, kept = budget, []
        for at in sorted(range(start, end), key=lambda at: (-values[at], at)):
            if costs[at] <= left:
                left -= costs[at]
                kept.append(at)
        chosen += sorted(kept)
        ends.append(len(chosen))
    return chosen, ends


class RawFile:
    """Write and fdatasync: what the disk can do at best."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self.count = 0

    def append(self, payload: bytes) -> None:
        """Make one record durable."""
        os.write(self.fd, payload)
        os.fdatasync(self.fd)
        self.count += 1

    def append_all(self, payloads: list[bytes]) -> None:
        """Make many durable together."""
        os.write(self.fd, b"".join(payloads))
        os.fdatasync(self.fd)
        self.count += len(payloads)

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)


class Sqlite:
    """SQLite with a write-ahead log; with synchronous=FULL each commit is durable."""

    def __init__(
        self, path: Path, *, synchronous: str = "FULL", locking: str = "NORMAL", make: bool = True
    ) -> None:
        self.base = sqlite3.connect(path, isolation_level=None)
        self.base.execute(f"PRAGMA locking_mode={locking}")
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute(f"PRAGMA synchronous={synchronous}")
        if not make:
            return
        self.base.execute(
            "CREATE TABLE r (seq INTEGER PRIMARY KEY, kind TEXT, key BLOB, meta BLOB, payload BLOB)"
        )

    @property
    def count(self) -> int:
        """The number of records."""
        return self.base.execute("SELECT count(*) FROM r").fetchone()[0]

    def append(self, payload: bytes) -> None:
        """Make one record durable."""
        self.base.execute("INSERT INTO r VALUES (NULL, 'turn', 'log', 'm', ?)", (payload,))

    def append_all(self, payloads: list[bytes]) -> None:
        """Make many durable together."""
        self.base.execute("BEGIN")
        self.base.executemany(
            "INSERT INTO r VALUES (NULL, 'turn', 'log', 'm', ?)", [(p,) for p in payloads]
        )
        self.base.execute("COMMIT")

    def get(self, seq: int) -> bytes:
        """Read one payload."""
        return self.base.execute("SELECT payload FROM r WHERE seq = ?", (seq,)).fetchone()[0]

    def close(self) -> None:
        """Close the database."""
        self.base.close()


def row(payload: bytes) -> tuple[str, list[bytes], bytes, bytes]:
    """Make a record of the store out of a payload."""
    return ("turn", [b"log"], b"m", payload)
