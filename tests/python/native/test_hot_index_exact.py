"""The exact search is exact: ids and scores of the canonical brute force, bit for bit.

The deep profile asks ten thousand queries of each kind on every instruction set:
`HYPOTHESIS_PROFILE=deep pytest -s tests/python/native/test_hot_index_exact.py`, which takes minutes
and says how many were compared. The index is large enough for codes to be read before rows.
"""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager

import index_vectors
import numpy as np
import oracle_index as oracle
import pytest
import real_vectors

from warmset import Filter, native
from warmset.native import HotIndex

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
TIERS = native.simd_tiers()
K = 12
BATCH = 64
SEED = 20
# Real vectors are embedded where the cache does not have them, so a few in the ordinary profile.
ROWS, QUERIES, REAL = (20_000, 10_000, 20_000) if DEEP else (5_000, 64, 4_936)
COUNT, MANY = (32, 24) if DEEP else (8, 4)  # of queries: with few rows, and with many
ROUNDS = 30 if DEEP else 4


def tell(what):
    """Say what was compared; `pytest -s` shows it."""
    print(f"\n{what}", flush=True)


@contextmanager
def tier(name):
    """Make indexes of this instruction set; each keeps the one that it was made with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARMSET_SIMD", name)
        assert native.simd_tier() == name
        yield


def made(ids, rows, metric="ip", **labels):
    index = HotIndex(rows.shape[1], metric=metric)
    index.add(ids, rows, **labels)
    return index


def on_each_tier(ids, rows, metric="ip", **labels):
    """Make the same index on every instruction set."""
    indexes = {}
    for name in TIERS:
        with tier(name):
            indexes[name] = made(ids, rows, metric, **labels)
            assert f'simd="{name}"' in repr(indexes[name])
    return indexes


# --- ten thousand queries ------------------------------------------------------------------------


@functools.cache
def given(kind):
    """Rows, queries, ids and the right answers of one kind."""
    try:
        rows, queries = index_vectors.vectors(kind, REAL if kind == "real" else ROWS, QUERIES, SEED)
    except real_vectors.NoModel as error:
        pytest.skip(str(error))
    rng = np.random.default_rng(SEED)
    ids = rng.permutation(3 * len(rows))[: len(rows)].astype(np.uint64)
    scan = oracle.Scan(rows)
    return rows, queries, ids, [scan.best(ids, query, K) for query in queries]


@pytest.mark.parametrize("name", TIERS)
@pytest.mark.parametrize("kind", index_vectors.KINDS)
def test_every_query_gets_the_answer_of_the_brute_force(kind, name):
    rows, queries, ids, expected = given(kind)
    with tier(name):
        index = made(ids, rows)
    for at, query in enumerate(queries):
        assert oracle.same(index.search(query, K), expected[at]), (kind, name, SEED, at)
    compared = 0
    for start in range(0, len(queries), BATCH):
        found, scores, counts = index.search_batch(queries[start : start + BATCH], K)
        assert (counts == K).all()
        for at, answer in enumerate(zip(found, scores, strict=True), start):
            assert oracle.same(answer, expected[at]), (kind, name, SEED, at)
            compared += 1
    assert compared == QUERIES
    tell(f"{kind}, {name}: seed {SEED}, {compared:,} queries of {len(rows):,} rows, alone and in "
         "batches: the bits of the brute force")  # fmt: skip


def test_the_deep_profile_asks_ten_thousand():
    assert QUERIES in ({10_000} if DEEP else {64})
    assert len(TIERS) > 1, "a machine without vector instructions proves little"
    assert set(index_vectors.KINDS) == {"isotropic", "like", "real"}


# --- rows that are hard to tell apart ------------------------------------------------------------

DIMS = (1, 3, 31, 64, 384, 768, 1536)
SIZES = (0, 1, 63, 64, 65, 5_000)


def duplicates(rng, n, dim):
    return rng.standard_normal((7, dim), dtype=np.float32)[rng.integers(7, size=n)]


def one_ulp_apart(rng, n, dim):
    rows = np.repeat(rng.standard_normal((1, dim), dtype=np.float32), n, axis=0)
    at = np.arange(n), rng.integers(dim, size=n)
    rows[at] = np.nextafter(rows[at], rng.choice(np.float32([-9, 9]), size=n))
    return rows


def denormals(rng, n, dim):
    """Below the smallest normal number, or with products there."""
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    rows *= rng.choice(np.float32([1e-44, 1e-40, 1e-30, 1e-20]), size=(n, 1))
    rows[:, 0] += np.float32(1e-45)
    return np.where(rows.any(axis=1, keepdims=True), rows, np.float32(1e-45))


def one_dominant(rng, n, dim):
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    rows[:, dim // 2] = rng.choice(np.float32([1e6, 1e12, -1e12]), size=n)
    return rows


def ties(rng, n, dim):
    """Small integers: other rows, the same scores."""
    rows = rng.integers(-1, 2, (n, dim)).astype(np.float32)
    rows[:, 0] = 1
    return rows


def mixed(rng, n, dim):
    return oracle.hard_rows(rng, n, dim, "cosine")


SETS = (duplicates, one_ulp_apart, denormals, one_dominant, ties, mixed)


def asked(rng, count, rows, dim):
    """Queries that are rows, or their opposites, or hard in themselves."""
    if not len(rows):
        return rng.standard_normal((count, dim), dtype=np.float32)
    queries = oracle.hard_queries(rng, count, rows)
    queries[2::4] = -rows[rng.integers(len(rows), size=len(queries[2::4]))]
    return queries


@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("draw", SETS)
def test_rows_that_are_hard_to_tell_apart(draw, dim, metric):
    rng = np.random.default_rng([SEED, dim, len(metric)])
    compared = 0
    for n in SIZES if DEEP or dim < 500 else (*SIZES[:-1], 600):
        rows, ids = draw(rng, n, dim), oracle.hard_ids(rng, n)
        queries = asked(rng, COUNT if n < 500 else MANY, rows, dim)
        scan = oracle.Scan(oracle.prepared(rows, metric))
        scores = [scan.scores(query) for query in oracle.prepared(queries, metric)]
        for name, index in on_each_tier(ids, rows, metric).items():
            for k in (1, K, n + 5):
                found = index.search_batch(queries, k)
                for at, query in enumerate(queries):
                    expected = oracle.best(ids, scores[at], k)
                    where = (name, n, k, at)
                    assert oracle.same(index.search(query, k), expected), where
                    assert found[2][at] == len(expected[0]) == min(k, n), where
                    assert oracle.same((found[0][at], found[1][at]), expected), where
                    compared += 1
    tell(f"{draw.__name__}, {dim}, {metric}: seed {SEED}, {compared:,} answers")


# --- rows that come and go -----------------------------------------------------------------------


def check(indexes, held, rng, queries):
    """Compare every index with the rows that it should hold, unfiltered and within some ids."""
    ids = np.fromiter(held, np.uint64, len(held))
    rows = np.array([held[int(id_)] for id_ in ids])
    scan = oracle.Scan(rows)
    some = rng.permutation(len(ids))[: len(ids) // 3]
    for query in queries:
        scores = scan.scores(query)
        for name, index in indexes.items():
            assert len(index) == len(ids)
            expected = oracle.best(ids, scores, K)
            assert oracle.same(index.search(query, K), expected), name
            expected = oracle.best(ids[some], scores[some], K)
            found = index.search(query, K, where=Filter(ids=ids[some]))
            assert oracle.same(found, expected), name
    return len(queries) * len(indexes) * 2


@pytest.mark.parametrize("kind", ["isotropic", "like"])
def test_removed_rows_leave_and_come_back_as_others(kind):
    """Half of the rows leave at a time, so the index compacts; ids come back with other rows."""
    rng = np.random.default_rng(SEED)
    pool, queries = index_vectors.vectors(kind, 9_000, 4 * ROUNDS, SEED)
    held, compared = {}, 0
    indexes = on_each_tier([], np.empty((0, index_vectors.DIM)))
    for turn in range(ROUNDS):
        free = [id_ for id_ in range(6_000) if id_ not in held]
        fresh = rng.permutation(free)[: len(free) * 4 // 5]
        rows = pool[rng.integers(len(pool), size=len(fresh))]
        leaving = rng.permutation([*held])[: len(held) // 2]
        for index in indexes.values():
            index.remove(leaving)
            index.add(fresh, rows)
        for id_ in leaving:
            del held[int(id_)]
        held.update(zip(fresh.tolist(), rows, strict=True))
        compared += check(indexes, held, rng, queries[4 * turn : 4 * turn + 4])
    tell(f"{kind}, removed and added again: seed {SEED}, {compared:,} answers")


@pytest.mark.parametrize("kinds", [("isotropic", "like"), ("like", "isotropic")])
def test_rows_of_another_nature_come_and_the_old_ones_leave(kinds):
    """Whatever the index chose for the first rows, it answers rightly after they are gone."""
    rng = np.random.default_rng(SEED)
    (old, first), (new, later) = (
        index_vectors.vectors(kind, 3_000, 2 * ROUNDS, SEED) for kind in kinds
    )
    held = dict(enumerate(old))
    indexes = on_each_tier(range(3_000), old)
    compared = check(indexes, held, rng, first)
    for index in indexes.values():
        index.add(range(3_000, 6_000), new)
    held.update(enumerate(new, 3_000))
    compared += check(indexes, held, rng, [*first, *later])
    for index in indexes.values():
        index.remove(range(3_000))
    compared += check(indexes, {id_: held[id_] for id_ in range(3_000, 6_000)}, rng, later)
    tell(f"{' then '.join(kinds)}: seed {SEED}, {compared:,} answers")


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_a_conversation_is_a_search_of_its_rows(share):
    """Where much passes the filter and where little does, scattered over the index."""
    rows, queries = index_vectors.vectors("like", 5_000, 2 * ROUNDS, SEED)
    rng = np.random.default_rng(SEED)
    talk = (rng.random(len(rows)) < share).astype(np.uint32)
    ids = rng.permutation(9_000)[: len(rows)].astype(np.uint64)
    inside = talk == 1
    scan = oracle.Scan(rows[inside])
    indexes = on_each_tier(ids, rows, conversation=talk)
    for where in (Filter(conversation=1), Filter(tenant=0, conversation=1)):
        for query in queries:
            expected = oracle.best(ids[inside], scan.scores(query), K)
            for name, index in indexes.items():
                assert oracle.same(index.search(query, K, where=where), expected), name


def test_the_fast_oracle_is_the_plain_one():
    """The canonical sum of many rows has the bits of the definition, row by row."""
    rng = np.random.default_rng(SEED)
    for dim in DIMS:
        rows, ids = oracle.hard_rows(rng, 1_030, dim, "ip"), oracle.hard_ids(rng, 1_030)
        scan = oracle.Scan(rows)
        for query in oracle.hard_queries(rng, 4, rows):
            plain = oracle.scores(query, rows)
            assert np.array_equal(scan.scores(query).view(np.uint32), plain.view(np.uint32))
            for k in (1, K, len(rows), 2 * len(rows)):
                assert oracle.same(scan.best(ids, query, k), oracle.best(ids, plain, k))
