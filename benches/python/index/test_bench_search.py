"""Exact search against numpy, faiss and others: single queries, batches and inserts."""

from __future__ import annotations

import numpy as np
import pytest

from benches.python import material, peers
from benches.python.cases import contestants, measure
from warmset.lab.bench import index
from warmset.native import HotIndex

SIZES = (1_000, 10_000, 100_000)
CASES = [(kind, n) for kind in material.KINDS for n in SIZES if (kind, n) != ("real", 100_000)]


@contestants(*(index.search(kind, n, vectors=material.vectors) for kind, n in CASES))
def test_one_query(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@contestants(*(index.search_batch("isotropic", n) for n in SIZES))
def test_a_batch_of_64(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@contestants(index.add("isotropic", 10_000))
def test_adding_ten_thousand(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)


@pytest.mark.parametrize("name", ["warmset", "faiss"])
def test_adding_one_at_a_time(benchmark, name):
    benchmark.group = "add 10,000 x 384, one at a time"
    rows, _ = material.vectors("isotropic", 10_000)
    ids = np.arange(10_000)
    if name == "faiss" and peers.faiss_index(rows[:1]) is None:
        pytest.skip("faiss is not installed")

    def fill():
        made = HotIndex(384, metric="ip") if name == "warmset" else peers.faiss_index(rows[:0])
        for at in range(10_000):
            part = slice(at, at + 1)
            if name == "warmset":
                made.add(ids[part], rows[part])
            else:
                made.add(rows[part])
        return made

    made = benchmark.pedantic(fill, rounds=5, warmup_rounds=1)
    assert (len(made) if name == "warmset" else made.ntotal) == 10_000
