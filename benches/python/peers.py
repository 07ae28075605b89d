"""What others do for the same question: those of `warmset bench`, by the names of the races."""

from __future__ import annotations

from warmset.lab.bench.stores import KILOBYTE, RawFile, Sqlite, row
from warmset.lab.bench.vectors import (
    Faiss,
    K,
    exact,
    near,
    numpy_batch,
    numpy_search,
    same_bits,
)
from warmset.lab.bench.window import naive_pack

__all__ = [
    "KILOBYTE",
    "K",
    "RawFile",
    "Sqlite",
    "exact",
    "faiss_index",
    "naive_pack",
    "near",
    "numpy_batch",
    "numpy_search",
    "row",
    "same_bits",
]


def faiss_index(rows):
    """Build an exact index of faiss, on one thread; None where faiss is not installed."""
    try:
        return Faiss(rows).index
    except ImportError:
        return None
