"""What others answer when they are asked for the nearest vectors, each behind the same two calls.

Peers that are not among the extras live in a directory of packages, which `install` fills and `use`
puts behind everything else on the path: they run in this process, on the same core and in turns
with the others. A peer that is not there is a reason to skip it, which is printed.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from benches.python import peers

if TYPE_CHECKING:
    from pathlib import Path

K = 12
VARIABLE = "WARMSET_PEERS"
RECALL = 0.99
PACKAGES = ("hnswlib", "usearch", "sqlite-vec", "apsw", "lancedb", "qdrant-client")


def install(place: Path) -> None:
    """Fetch the packages that are not extras of ours.

    Raises:
        subprocess.CalledProcessError: pip failed; it said why.
    """
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--upgrade", "--target", str(place / "index"), *PACKAGES], check=True)  # noqa: S603 - pip


def use(place: Path | None) -> None:
    """Let peers be imported from there; what is installed here comes first."""
    if place is not None:
        sys.path.append(str(place / "index"))


def recall(found, expected) -> float:
    """Give the share of the right ids that were found."""
    hits = [len({*map(int, a)} & {*map(int, b)}) for a, b in zip(found, expected, strict=True)]
    return sum(hits) / sum(map(len, expected))


class Peer:
    """A peer with its rows. `settled` says at what effort it answers.

    Attributes:
        exact: Whether it promises the best rows, up to how it rounds its sums.
        seconds: How long it took to take the rows.
        efforts: How hard it can try; the least that finds enough is taken.
    """

    exact = True
    efforts: tuple[int, ...] = ()

    def __init__(self, rows) -> None:
        begin = time.perf_counter()
        self.build(rows)
        self.seconds = time.perf_counter() - begin

    def build(self, rows) -> None:
        """Take the rows."""
        raise NotImplementedError

    def one(self, query):
        """Give the ids of the best rows for one query."""
        raise NotImplementedError

    def effort(self, value: int) -> None:
        """Try as hard as this."""

    def settle(self, queries, expected) -> dict[str, float]:
        """Find the least effort that finds enough, and say what it was and what it finds."""
        for value in self.efforts or (0,):
            self.effort(value)
            share = recall([self.one(query) for query in queries], expected)
            if share >= RECALL:
                break
        return {"recall": share} | ({"effort": value} if self.efforts else {})


class Flat(Peer):
    """faiss, every row: IndexFlatIP."""

    def build(self, rows):
        import faiss  # noqa: PLC0415 - a peer

        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexFlatIP(rows.shape[1])
        self.index.add(rows)

    def one(self, query):
        return self.index.search(query[None], K)[1][0]

    def many(self, queries):
        """Give the ids for several queries at once."""
        return self.index.search(queries, K)[1]


class Numpy(Peer):
    """A matrix product, then a partition."""

    def build(self, rows):
        self.rows = rows

    def one(self, query):
        return peers.numpy_search(self.rows, query)[0]

    def many(self, queries):
        """Give the ids for several queries at once."""
        return peers.numpy_batch(self.rows, queries)[0]


class FastScan(Flat):
    """faiss: product quantiser of 192 x 4 bits, fast scan, the best refined with the rows."""

    exact = False
    efforts = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)

    def build(self, rows):
        import faiss  # noqa: PLC0415 - a peer

        faiss.omp_set_num_threads(1)
        dim = rows.shape[1]
        codes = faiss.IndexPQFastScan(dim, dim // 2, 4, faiss.METRIC_INNER_PRODUCT)
        self.index = faiss.IndexRefineFlat(codes)
        self.index.train(rows[:20_000])
        self.index.add(rows)

    def effort(self, value):
        self.index.k_factor = value


class FaissGraph(Flat):
    """faiss: a graph of 16 links a row, built as it does by itself."""

    exact = False
    efforts = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)

    def build(self, rows):
        import faiss  # noqa: PLC0415 - a peer

        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexHNSWFlat(rows.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        self.index.add(rows)

    def effort(self, value):
        self.index.hnsw.efSearch = value


class Hnswlib(Peer):
    """hnswlib: a graph of 16 links a row."""

    exact = False
    efforts = FaissGraph.efforts

    def build(self, rows):
        peer = importlib.import_module("hnswlib")
        self.index = peer.Index(space="ip", dim=rows.shape[1])
        self.index.init_index(len(rows), M=16, ef_construction=200, random_seed=1)
        self.index.set_num_threads(1)
        self.index.add_items(rows)

    def one(self, query):
        return self.index.knn_query(query, K)[0][0]

    def effort(self, value):
        self.index.set_ef(value)


class Usearch(Peer):
    """usearch, every row, in fewer bits; its graph is kept as small as it allows."""

    dtype = "bf16"
    exact = False

    def build(self, rows):
        peer = importlib.import_module("usearch.index")
        self.index = peer.Index(
            ndim=rows.shape[1], metric="ip", dtype=self.dtype, connectivity=4, expansion_add=1
        )
        self.index.add(np.arange(len(rows)), rows, threads=1)

    def one(self, query):
        return self.index.search(query, K, exact=True, threads=1).keys


class UsearchBytes(Usearch):
    """The same in eight bits."""

    dtype = "i8"
