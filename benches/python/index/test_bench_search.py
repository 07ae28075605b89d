"""Exact search against numpy and faiss, single queries, batches and inserts."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

from benches.python import material, peers
from warmset.native import HotIndex

SIZES = (1_000, 10_000, 100_000)
CASES = [(kind, n) for kind in material.KINDS for n in SIZES if (kind, n) != ("real", 100_000)]
NAMES = ("warmset", "faiss", "numpy")


def given(kind, n):
    try:
        return material.vectors(kind, n)
    except material.NoModel as error:
        pytest.skip(f"no real vectors: {error}")


def ours(rows):
    index = HotIndex(rows.shape[1], metric="ip")
    index.add(np.arange(len(rows)), rows)
    return index


def theirs(rows):
    return peers.faiss_index(rows) or pytest.skip("faiss is not installed")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("kind", "n"), CASES)
def test_one_query(benchmark, kind, n, name):
    benchmark.group = f"search, k=12, {kind} {n} x 384"
    rows, queries = given(kind, n)
    if name == "warmset":
        index = ours(rows)
        for query in queries[:4]:
            assert peers.same_bits(index.search(query, peers.K), rows, query)
        at = cycle(queries)
        benchmark(lambda: index.search(next(at), peers.K))
    elif name == "faiss":
        flat = theirs(rows)
        scores, ids = flat.search(queries[:1], peers.K)
        assert peers.near((ids[0], scores[0]), rows, queries[0])
        at = cycle([query[None] for query in queries])
        benchmark(lambda: flat.search(next(at), peers.K))
    else:
        assert peers.near(peers.numpy_search(rows, queries[0]), rows, queries[0])
        at = cycle(queries)
        benchmark(lambda: peers.numpy_search(rows, next(at)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", SIZES)
def test_a_batch_of_64(benchmark, n, name):
    benchmark.group = f"batch of 64, k=12, isotropic {n} x 384"
    rows, queries = material.vectors("isotropic", n)
    if name == "warmset":
        index = ours(rows)
        ids, scores, counts = benchmark(lambda: index.search_batch(queries, peers.K))
        assert counts.tolist() == [peers.K] * 64
        for at in (0, 63):
            assert peers.same_bits((ids[at], scores[at]), rows, queries[at])
    elif name == "faiss":
        flat = theirs(rows)
        scores, ids = benchmark(lambda: flat.search(queries, peers.K))
        assert peers.near((ids[63], scores[63]), rows, queries[63])
    else:
        ids, scores = benchmark(lambda: peers.numpy_batch(rows, queries))
        assert peers.near((ids[63], scores[63]), rows, queries[63])


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("at_once", [1, 10_000])
def test_adding_ten_thousand(benchmark, at_once, name):
    benchmark.group = f"add 10,000 x 384, {at_once} at a time"
    rows, _ = material.vectors("isotropic", 10_000)
    ids = np.arange(10_000)
    if name == "faiss":
        theirs(rows[:1])

    def fill():
        index = HotIndex(384, metric="ip") if name == "warmset" else peers.faiss_index(rows[:0])
        for start in range(0, 10_000, at_once):
            part = slice(start, start + at_once)
            if name == "warmset":
                index.add(ids[part], rows[part])
            else:
                index.add(rows[part])
        return index

    index = benchmark.pedantic(fill, rounds=5, warmup_rounds=1)
    assert (len(index) if name == "warmset" else index.ntotal) == 10_000
