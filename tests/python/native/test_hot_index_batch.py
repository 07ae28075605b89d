"""Batches with filters, several threads, roles and kinds by column, half-precision vectors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle_index as oracle
import pytest

from warmset import Filter
from warmset.errors import InvalidInputError, NotFiniteError
from warmset.native import HotIndex

DIM = 24


@pytest.fixture(scope="module")
def case():
    """An index that is large enough for threads of its own, with many ties."""
    rng = np.random.default_rng(5)
    n = 20_000
    rows = rng.integers(-1, 2, (n, DIM)).astype(np.float32)
    ids = rng.permutation(n).astype(np.uint64)
    kinds, roles = rng.integers(0, 4, n), rng.integers(0, 3, n)
    index = HotIndex(DIM, metric="ip")
    index.add(ids, rows, kind=kinds, role=roles, at=np.arange(n))
    return index, ids, rows, kinds, roles


FILTERS = {
    "none": (None, lambda _kinds, _roles: slice(None)),
    "kind": (Filter(kind=2), lambda kinds, _: kinds == 2),
    "role": (Filter(role=1), lambda _, roles: roles == 1),
    "time": (Filter(since=9_000, before=9_900), lambda *_: slice(9_000, 9_900)),
    "both": (Filter(kind=3, role=0), lambda kinds, roles: (kinds == 3) & (roles == 0)),
}


@pytest.mark.parametrize(("where", "passes"), FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("threads", [1, 2, 5, 10_000])
def test_any_number_of_threads_gives_the_brute_force(case, where, passes, threads):
    index, ids, rows, kinds, roles = case
    some = passes(kinds, roles)
    queries = rows[:6] + np.float32(0.5)
    for k in (1, 30, 25_000):
        found, scores, counts = index.search_batch(queries, k, where=where, threads=threads)
        for at, query in enumerate(queries):
            expected = oracle.best(ids[some], oracle.scores(query, rows[some]), k)
            assert counts[at] == len(expected[0])
            assert oracle.same((found[at, : counts[at]], scores[at, : counts[at]]), expected)
            assert oracle.same(index.search(query, k, where=where, threads=threads), expected)


def test_a_filter_that_admits_nothing(case):
    ids, scores, counts = case[0].search_batch(
        np.ones((2, DIM)), 3, where=Filter(kind=77), threads=2
    )
    assert (ids.shape, scores.shape, counts.tolist()) == ((2, 0), (2, 0), [0, 0])


@pytest.mark.parametrize("threads", [0, -1, 1.0, "2", True, 2**64], ids=repr)
def test_threads_are_a_positive_integer(case, threads):
    for use in (case[0].search, case[0].search_batch):
        with pytest.raises(InvalidInputError, match="threads: expected an integer of at least 1"):
            use(np.ones(DIM), 1, threads=threads)


def test_the_query_at_fault_is_named_whatever_the_threads(case):
    queries = np.ones((9, DIM), np.float32)
    queries[7, 3] = np.nan
    with pytest.raises(NotFiniteError, match="vector 7"):
        case[0].search_batch(queries, 1, threads=4)


def test_a_batch_takes_only_a_filter(case):
    with pytest.raises(InvalidInputError, match="where"):
        case[0].search_batch(np.ones((2, DIM)), 1, where={"kind": 1})


@pytest.mark.parametrize("role", [-1, 65_536, 1.5, "user", [1, 2, 3]], ids=repr)
def test_roles_that_do_not_fit_are_refused(role):
    index = HotIndex(2)
    with pytest.raises(InvalidInputError, match="role"):
        index.add([1, 2], np.ones((2, 2)), role=role)
    assert len(index) == 0


def test_kinds_are_a_name_a_number_or_a_column():
    index = HotIndex(1)
    index.add([1, 2], [[1], [1]], kind="turn")
    index.add([3, 4], [[1], [1]], kind=[1, 4])
    index.add([5], [[1]], kind=np.int8(4))
    assert index.search([1], 9, where=Filter(kind="turn"))[0].tolist() == [1, 2, 3]
    assert index.search([1], 9, where=Filter(kind="summary"))[0].tolist() == [4, 5]
    for bad in ([1, 2, 3], "nothing", ["turn", "turn"], -1):
        with pytest.raises(InvalidInputError, match="kind"):
            index.add([8, 9], [[1], [1]], kind=bad)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_half_precision_is_converted_exactly(dtype, layout):
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((200, DIM)).astype(dtype)
    rows[0] = [2.0 ** -(at % 9 + 6) for at in range(DIM)]
    if layout == "strided":
        rows = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    elif layout == "F":
        rows = np.asfortranarray(rows)
    wide = rows.astype(np.float32)
    for metric in ("cosine", "ip"):
        index = HotIndex(DIM, metric=metric)
        index.add(range(200), rows)
        batch = index.search_batch(rows[:9], 200)
        for at in range(9):
            expected = oracle.search(range(200), wide, wide[at], 200, metric)
            assert oracle.same(index.search(rows[at], 200), expected)
            assert oracle.same((batch[0][at], batch[1][at]), expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_half_precision_that_is_not_finite_is_refused(dtype, bad):
    rows = np.ones((3, 2), np.float32)
    rows[1, 1] = bad
    with pytest.raises(NotFiniteError, match="vector 1"):
        HotIndex(2).add([1, 2, 3], rows.astype(dtype))


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.complex64, object, "U3", "S3", bool]
)
def test_what_has_no_exact_reading_is_refused_by_name(dtype):
    rows = np.ones((2, 2)).astype(dtype)
    with pytest.raises(InvalidInputError, match=f"vectors: .*found dtype .*{rows.dtype}"):
        HotIndex(2).add([1, 2], rows)
