"""Durable appends of 1 KB records, and reads by id, against a raw file and SQLite."""

from __future__ import annotations

import os
from itertools import cycle

import pytest

from benches.python import peers
from warmset.native import ColdStore

PAYLOADS = [os.urandom(peers.KILOBYTE) for _ in range(1_000)]
NAMES = ["warmset", "raw write + fdatasync", "SQLite FULL"]


@pytest.fixture
def store(request, tmp_path):
    """Open what is measured: the store, a raw file or SQLite."""
    made = {
        "warmset": lambda: ColdStore.open(tmp_path / "store"),
        "raw write + fdatasync": lambda: peers.RawFile(tmp_path / "raw"),
        "SQLite FULL": lambda: peers.Sqlite(tmp_path / "base"),
    }[request.param]()
    yield made
    made.close()


def kept(store):
    return store.verify()["records"] if isinstance(store, ColdStore) else store.count


@pytest.mark.parametrize("store", NAMES, indirect=True)
def test_one_durable_append(benchmark, store):
    benchmark.group = "durable append of 1 KB"
    at = cycle(PAYLOADS)
    if isinstance(store, ColdStore):
        benchmark.pedantic(lambda: store.append([peers.row(next(at))]), rounds=2_000)
    else:
        benchmark.pedantic(lambda: store.append(next(at)), rounds=2_000)
    assert kept(store) in {1, 2_000}  # one if benchmarks are switched off


@pytest.mark.parametrize("store", NAMES, indirect=True)
def test_a_durable_batch_of_a_thousand(benchmark, store):
    benchmark.group = "durable append of 1,000 x 1 KB together"
    if isinstance(store, ColdStore):
        rows = [peers.row(payload) for payload in PAYLOADS]
        benchmark.pedantic(lambda: store.append(rows), rounds=20)
    else:
        benchmark.pedantic(lambda: store.append_all(PAYLOADS), rounds=20)
    assert kept(store) in {1_000, 20_000}


@pytest.mark.parametrize("read", ["map", "pread", "SQLite"])
def test_a_warm_read_by_id(benchmark, read, tmp_path):
    """Sealed segments, so that `map` is one; each read is verified by the hash of its payload."""
    benchmark.group = "read 1 KB by id"
    if read == "SQLite":
        base = peers.Sqlite(tmp_path / "base")
        base.append_all(PAYLOADS * 20)
        get, close = base.get, base.close
    else:
        store = ColdStore.open(tmp_path, read=read, segment_bytes=1 << 20)
        for _ in range(20):
            store.append([peers.row(payload) for payload in PAYLOADS])
        get, close = (lambda seq: store.get(seq).payload), store.close
    ids = cycle([1 + at * 7919 % 19_000 for at in range(5_000)])
    benchmark(lambda: get(next(ids)))
    assert all(get(seq) == PAYLOADS[(seq - 1) % 1_000] for seq in range(1, 20_000, 333))
    close()
