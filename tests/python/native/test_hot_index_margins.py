"""Rows and queries made so that a head errs as far as it can, and half of them the other way.

Of two groups of rows, the head thinks better of those that are worse. The estimates differ by less
than both errors together, so a bound that leaves out even a part of an error loses rows.
"""

from __future__ import annotations

import numpy as np
import oracle_index as oracle
import pytest

from warmset import native
from warmset.native import HotIndex

TIERS = native.simd_tiers()
DIM = 384
GROUP = 90  # rows of each group
SETS = 24  # queries, each with its two groups
K = 12


def whole(rng, top):
    """A vector of integers up to `top`: codes of so many levels miss nothing of it."""
    values = rng.standard_normal(DIM)
    codes = np.rint(values * (top / abs(values).max()))
    codes[np.argmax(abs(codes))] = top
    return codes


def steps(rng, along, distance, codes, top):
    """Steps of codes, at places drawn, that together lead so far along a vector."""
    free = np.flatnonzero((abs(codes) < top - 1) & (along != 0))
    free = rng.permutation(free)
    reach = np.cumsum(abs(along[free]))
    size = np.ceil(abs(distance) / reach[-1])
    taken = free[: np.searchsorted(size * reach, abs(distance))]
    out = np.zeros(DIM)
    out[taken] = np.sign(along[taken]) * np.sign(distance) * size
    return out


def rows_that_codes_miss(rng, top):
    """Every row lies as far from its codes as it can, along the query or against it."""
    query = whole(rng, 127)
    base = whole(rng, top)
    base -= query * ((base @ query) / (query @ query))
    base += query * (0.3 * np.linalg.norm(base) / np.linalg.norm(query))
    peak = np.argmax(abs(base))
    codes = np.rint(base * (top / abs(base[peak])))
    missed = query * (0.45 / abs(query).max())
    missed[abs(codes) >= top - 1] = 0  # the largest values decide what a step is
    gain = 2 * (missed @ query)
    rows = []
    for share in rng.uniform(0.8, 1, GROUP):
        worse = codes + steps(rng, query, share * gain, codes, top) - missed
        rows += [worse, codes + missed]
    return np.array(rows) / np.linalg.norm(codes), query / np.linalg.norm(query)


def queries_that_codes_miss(rng, top):
    """Every row is its codes, and lies along what the query's codes miss or against it."""
    del top
    codes = whole(rng, 127)
    missed = rng.choice([-0.45, 0.45], DIM)
    missed[abs(codes) > 125] = 0
    query = codes + missed
    turned = missed - codes * ((missed @ codes) / (codes @ codes))
    side, base = np.rint(turned * (60 / abs(turned).max())), np.rint(codes / 2)
    better, worse = base + side, base - side
    better[0] = worse[0] = 127
    gain = (better - worse) @ missed
    rows = []
    for share in rng.uniform(0.8, 1, GROUP):
        ahead = share * gain + (better - worse) @ codes
        rows += [worse + steps(rng, codes, ahead, worse, 127), better]
    return np.array(rows) / np.linalg.norm(better), query / np.linalg.norm(query)


def tails_that_a_head_misses(rng, top):
    """All but a few directions hold little; there, rows lie along the query or against it."""
    head = 1 + top % 100  # 28 or 8 directions
    query = rng.standard_normal(DIM)
    tail = query[head:] * 0.05
    query = np.concatenate([query[:head] / np.linalg.norm(query[:head]), tail])
    rows = np.zeros((2 * GROUP, DIM))
    rows[:, :head] = query[:head]
    gain = 2 * (tail @ tail)
    rows[::2, :head] *= 1 + gain * rng.uniform(0.8, 1, (GROUP, 1))
    rows[::2, head:], rows[1::2, head:] = -tail, tail
    return rows, query


@pytest.mark.parametrize("top", [127, 7], ids=["eight bits", "four bits"])
@pytest.mark.parametrize(
    "draw", [rows_that_codes_miss, queries_that_codes_miss, tails_that_a_head_misses]
)
def test_no_row_is_lost_where_a_head_errs_most(draw, top, monkeypatch):
    rng = np.random.default_rng(top)
    made = [draw(rng, top) for _ in range(SETS)]
    rows = np.concatenate([rows for rows, _ in made]).astype(np.float32)
    queries = np.array([query for _, query in made], np.float32)
    ids = rng.permutation(len(rows)).astype(np.uint64)
    scan = oracle.Scan(rows)
    expected = [oracle.best(ids, scan.scores(query), K) for query in queries]
    for name in TIERS:
        monkeypatch.setenv("WARMSET_SIMD", name)
        index = HotIndex(DIM, metric="ip")
        index.add(ids, rows)
        found, scores, _ = index.search_batch(queries, K)
        for at, query in enumerate(queries):
            assert oracle.same(index.search(query, K), expected[at]), (name, at)
            assert oracle.same((found[at], scores[at]), expected[at]), (name, at)
