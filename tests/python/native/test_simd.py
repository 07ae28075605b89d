"""Every instruction set gives the bits of the oracle; a tier changes the time, never the answer."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import oracle_index as oracle
import pytest

import warmset
from warmset import _core, native
from warmset.errors import InvalidInputError
from warmset.native import HotIndex
from warmset.options import ONLY_WORDS
from warmset.retrieve.cues import Cue

TIERS = native.simd_tiers()
DENSE = dataclasses.replace(ONLY_WORDS, lexical=0, dense=1)
# More than a thousand queries a tier; fewer of them where the oracle has more to do.
QUERIES = {1: 100, 3: 100, 31: 100, 64: 100, 384: 70, 768: 50}
SIZES = (0, 1, 63, 64, 65, 2000)
K = 20


@functools.cache
def case(dim, metric):
    """Rows, ids, queries and all scores: made once, compared with every tier."""
    rng = np.random.default_rng([dim, len(metric)])
    rows = oracle.hard_rows(rng, max(SIZES), dim, metric)
    queries = oracle.hard_queries(rng, QUERIES[dim], rows)
    ready = oracle.prepared(rows, metric)
    scores = [oracle.scores(query, ready) for query in oracle.prepared(queries, metric)]
    return oracle.hard_ids(rng, len(rows)), rows, queries, scores


def index_of(tier, monkeypatch, dim, metric):
    monkeypatch.setenv("WARMSET_SIMD", tier)
    index = HotIndex(dim, metric=metric)
    assert repr(tier).replace("'", '"') in repr(index)
    return index


def test_a_thousand_queries_a_tier():
    assert 2 * sum(QUERIES.values()) >= 1_000
    assert TIERS[0] == "scalar"
    assert len(TIERS) > 1, "a machine without vector instructions proves little"


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("dim", QUERIES)
@pytest.mark.parametrize("tier", TIERS)
def test_ids_and_scores_are_the_oracles_bit_for_bit(tier, dim, metric, monkeypatch):
    ids, rows, queries, scores = case(dim, metric)
    for n in SIZES:
        index = index_of(tier, monkeypatch, dim, metric)
        index.add(ids[:n], rows[:n])
        found = index.search_batch(queries, K)
        for at, query in enumerate(queries):
            count = found[2][at]
            assert count == min(n, K)
            expected = oracle.best(ids[:n], scores[at][:n], K)
            assert oracle.same((found[0][at, :count], found[1][at, :count]), expected), (n, at)
            if n < max(SIZES) or at < 3:
                assert oracle.same(index.search(query, K), expected), (n, at)


@pytest.mark.parametrize("tier", TIERS)
def test_the_retriever_scores_with_the_same_bits(tier, monkeypatch):
    monkeypatch.setenv("WARMSET_SIMD", tier)
    retriever = _core.Retriever()
    assert retriever.tier == tier
    rng = np.random.default_rng(1)
    given = oracle.unit(oracle.hard_rows(rng, 150, 64, "cosine"))
    for id_, row in enumerate(given):
        retriever.add(id_, (0, 0, 0, 0, 0, 0, 0, True), "")
        retriever.put_vectors(id_, row)
    rows = given.astype(np.float16).astype(np.float32)  # as they are kept
    assert not np.array_equal(rows, given)
    for query in oracle.hard_queries(rng, 40, rows):
        found = retriever.search(query, "", 30, where=warmset.Filter(), weights=DENSE, cue=Cue())
        # The query is brought to unit length; rows are taken as they are.
        expected = oracle.search(range(150), rows, oracle.unit([query])[0], 30, "ip")
        assert oracle.same((found[0].astype(np.uint64), found[2].column(0)), expected)


# --- which tier ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_can_be_forced(tier, monkeypatch):
    monkeypatch.setenv("WARMSET_SIMD", tier)
    assert native.simd_tier() == tier


@pytest.mark.parametrize("unset", [True, False], ids=["unset", "empty"])
def test_the_fastest_is_taken_unless_told(monkeypatch, unset):
    monkeypatch.setenv("WARMSET_SIMD", "")
    if unset:
        monkeypatch.delenv("WARMSET_SIMD")
    assert native.simd_tier() == TIERS[-1]


def test_an_index_keeps_the_tier_that_it_was_made_with(monkeypatch):
    index = index_of("scalar", monkeypatch, 3, "ip")
    monkeypatch.setenv("WARMSET_SIMD", "mmx")
    index.add([1], [[1, 2, 3]])
    assert index.search([1, 0, 0], 1)[1] == [1]
    assert 'simd="scalar"' in repr(index)


@pytest.mark.parametrize("name", ["mmx", "AVX2", " avx2", "avx2,scalar", "0"])
@pytest.mark.parametrize(
    "make",
    [lambda: HotIndex(3), _core.Retriever, native.simd_tier],
    ids=["HotIndex", "Retriever", "simd_tier"],
)
def test_an_unknown_tier_is_refused_with_the_list(make, name, monkeypatch):
    monkeypatch.setenv("WARMSET_SIMD", name)
    with pytest.raises(InvalidInputError, match="WARMSET_SIMD") as caught:
        make()
    assert all(tier in str(caught.value) for tier in [*TIERS, name])


@pytest.mark.skipif("neon" in TIERS, reason="this machine has it")
def test_a_tier_of_another_machine_is_refused(monkeypatch):
    monkeypatch.setenv("WARMSET_SIMD", "neon")
    with pytest.raises(InvalidInputError, match="expected one of scalar"):
        HotIndex(3)
