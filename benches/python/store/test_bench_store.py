"""Durable appends of 1 KB records, and reads by id, against SQLite, LMDB and a plain file."""

from __future__ import annotations

from itertools import cycle

import pytest

from benches.python import peers
from benches.python.cases import contestants, measure
from warmset.lab.bench import store
from warmset.native import ColdStore


@contestants(*store.CASES)
def test_a_store(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@pytest.mark.parametrize("read", ["map", "pread"])
def test_a_warm_read_by_id(benchmark, read, tmp_path):
    """Sealed segments, so that `map` is one; each read is verified by the hash of its payload."""
    benchmark.group = "read 1 KB by id, by the way of reading"
    payloads = store.payloads()
    with ColdStore.open(tmp_path, read=read, segment_bytes=1 << 20) as opened:
        for _ in range(20):
            opened.append([peers.row(payload) for payload in payloads])
        ids = cycle([1 + at * 7919 % 19_000 for at in range(5_000)])
        benchmark(lambda: opened.get(next(ids)).payload)
        for seq in range(1, 20_000, 333):
            assert opened.get(seq).payload == payloads[(seq - 1) % 1_000]
