"""What one takes because it is at hand: stores that search without an index, and a loop."""

from __future__ import annotations

import heapq
import importlib
import tempfile
from operator import mul

import numpy as np

from benches.python.index.peers import K, Peer

BATCH = 1_000


class SqliteVec(Peer):
    """sqlite-vec in memory; Python's own SQLite often loads no extensions, so apsw's does."""

    def build(self, rows):
        apsw, peer = importlib.import_module("apsw"), importlib.import_module("sqlite_vec")
        self.base = apsw.Connection(":memory:")
        self.base.enable_load_extension(True)
        self.base.load_extension(peer.loadable_path())
        self.base.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{rows.shape[1]}])")
        with self.base:
            self.base.executemany(
                "INSERT INTO v(rowid, e) VALUES (?, ?)",
                ((at, row.tobytes()) for at, row in enumerate(rows)),
            )

    def one(self, query):
        ask = "SELECT rowid FROM v WHERE e MATCH ? AND k = ? ORDER BY distance"
        return [row[0] for row in self.base.execute(ask, (query.tobytes(), K))]


class LanceDb(Peer):
    """lancedb without an index, in a temporary directory."""

    def build(self, rows):
        peer, arrow = importlib.import_module("lancedb"), importlib.import_module("pyarrow")
        self.place = tempfile.TemporaryDirectory()
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(rows.ravel()), rows.shape[1])
        table = arrow.table({"id": np.arange(len(rows)), "vector": vectors})
        self.table = peer.connect(self.place.name).create_table("v", table)

    def one(self, query):
        found = self.table.search(query).distance_type("dot").select(["id", "_distance"]).limit(K)
        return found.to_arrow()["id"].to_pylist()


class Qdrant(Peer):
    """qdrant's local mode, in memory."""

    def build(self, rows):
        peer = importlib.import_module("qdrant_client")
        self.client = peer.QdrantClient(":memory:")
        config = peer.models.VectorParams(size=rows.shape[1], distance=peer.models.Distance.DOT)
        self.client.create_collection("v", vectors_config=config)
        for at in range(0, len(rows), BATCH):
            part = rows[at : at + BATCH]
            self.client.upsert("v", peer.models.Batch(ids=[*range(at, at + len(part))],
                                                      vectors=part.tolist()))  # fmt: skip

    def one(self, query):
        return [point.id for point in self.client.query_points("v", query, limit=K).points]


class Loop(Peer):
    """Lists of floats and a loop."""

    def build(self, rows):
        self.rows = rows.tolist()

    def one(self, query):
        query = query.tolist()
        scores = [sum(map(mul, row, query)) for row in self.rows]
        return heapq.nlargest(K, range(len(scores)), key=scores.__getitem__)
