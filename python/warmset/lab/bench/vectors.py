"""Exact search by others, and the brute force by which every search is checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.float32]
    Found: TypeAlias = tuple[NDArray[Any], NDArray[np.float32]]
    """Ids and scores, the best first."""

K: Final = 12
"""Hits of a search."""

_ROUNDING: Final = 1e-5
"""How far a peer's sums may be from the canonical ones."""


def exact(rows: Rows, query: Rows, k: int = K) -> Found:
    """Rank by the canonical sum, by brute force: the answer that searches are checked against."""
    blocks = rows.reshape(len(rows), -1, 16)
    acc = np.zeros((len(rows), 16), np.float32)
    for block in range(blocks.shape[1]):
        acc = acc + blocks[:, block] * query[block * 16 : block * 16 + 16]
    for width in (8, 4, 2, 1):
        acc = acc[:, :width] + acc[:, width : 2 * width]
    order = np.lexsort((np.arange(len(rows)), -acc[:, 0]))[:k]
    return order, acc[order, 0]


def same_bits(found: Found, rows: Rows, query: Rows, k: int = K) -> bool:
    """Tell whether ids and the bits of scores are those of `exact`."""
    ids, scores = exact(rows, query, k)
    return np.array_equal(found[0], ids) and np.array_equal(
        found[1].view(np.uint32), scores.view(np.uint32)
    )


def near(found: Found, rows: Rows, query: Rows, k: int = K) -> bool:
    """Tell whether scores are the best ones, up to how a peer rounds its sums."""
    best = exact(rows, query, k)[1]
    scores = np.sort(found[1])[::-1]
    return scores.shape == best.shape and np.allclose(scores, best, atol=_ROUNDING)


def numpy_search(rows: Rows, query: Rows, k: int = K) -> Found:
    """Multiply, partition, sort."""
    scores = rows @ query
    top = np.argpartition(scores, len(scores) - k)[-k:]
    top = top[np.argsort(-scores[top])]
    return top, scores[top]


def numpy_batch(rows: Rows, queries: Rows, k: int = K) -> Found:
    """Do so for all queries with one matrix product."""
    scores = queries @ rows.T
    top = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    best = np.take_along_axis(scores, top, 1)
    order = np.argsort(-best, axis=1)
    return np.take_along_axis(top, order, 1), np.take_along_axis(best, order, 1)


class Faiss:
    """faiss, every row: IndexFlatIP on one thread.

    Raises:
        ImportError: faiss is not installed.
    """

    def __init__(self, rows: Rows) -> None:
        faiss = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self.index: Any = faiss.IndexFlatIP(rows.shape[1])
        self.index.add(rows)

    def many(self, queries: Rows) -> Found:
        """Return ids and scores of several queries."""
        scores, ids = self.index.search(queries, K)
        return ids, scores


class Usearch:
    """usearch, every row, with its kernels for float32 and on one thread.

    Raises:
        ImportError: usearch is not installed.
    """

    def __init__(self, rows: Rows) -> None:
        peer = importlib.import_module("usearch.index")
        self._search, self._metric, self._rows = peer.search, peer.MetricKind.IP, rows

    def many(self, queries: Rows) -> Found:
        """Return ids and scores of several queries; its distance is 1 less the product."""
        found = self._search(self._rows, queries, K, metric=self._metric, exact=True, threads=1)
        shape = (len(queries), K)
        ids, distances = np.reshape(found.keys, shape), np.reshape(found.distances, shape)
        return ids, (1 - distances).astype(np.float32)


class Hnswlib:
    """hnswlib: a graph of 16 links, asked with the least effort that finds 99 % of the best rows.

    Args:
        rows: The vectors.
        queries: What the effort is chosen by.

    Attributes:
        recall: The share of the best rows that it finds.

    Raises:
        ImportError: hnswlib is not installed.
    """

    EFFORTS: Final = (16, 32, 64, 128, 256, 512)
    ENOUGH: Final = 0.99

    def __init__(self, rows: Rows, queries: Rows) -> None:
        peer = importlib.import_module("hnswlib")
        self._graph: Any = peer.Index("ip", rows.shape[1])
        self._graph.init_index(len(rows), M=16, ef_construction=200, random_seed=1)
        self._graph.set_num_threads(1)
        self._graph.add_items(rows, np.arange(len(rows)), num_threads=1)
        best = [exact(rows, query)[0] for query in queries]
        for effort in self.EFFORTS:
            self._graph.set_ef(effort)
            found, _ = self.many(queries)
            hits = sum(
                len(np.intersect1d(ids, right)) for ids, right in zip(found, best, strict=True)
            )
            self.recall = hits / (K * len(queries))
            if self.recall >= self.ENOUGH:
                break

    def many(self, queries: Rows) -> Found:
        """Return ids and scores of several queries; its distance is 1 less the product."""
        ids, distances = self._graph.knn_query(queries, K, num_threads=1)
        return ids, (1 - distances).astype(np.float32)
