"""The exact index against a brute force: filters, removals, odd input, typed errors, threads."""

from __future__ import annotations

import threading

import numpy as np
import oracle_index as oracle
import pytest

from warmset import Filter
from warmset.errors import (
    DuplicateIdError,
    InvalidInputError,
    NotFiniteError,
    UnknownIdError,
    ZeroNormError,
)
from warmset.native import HotIndex

METRICS = ["cosine", "ip"]


def filled(n=3, dim=4, metric="ip"):
    index = HotIndex(dim, metric=metric)
    index.add(np.arange(n), np.arange(1, n * dim + 1, dtype=np.float32).reshape(n, dim))
    return index


def state(index):
    return index.search(np.ones(index.dim), max(len(index), 1))


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 7, 65, 300])
def test_any_k_gives_the_best_of_the_brute_force(n, metric):
    rng = np.random.default_rng(n)
    rows, ids = oracle.hard_rows(rng, n, 31, metric), oracle.hard_ids(rng, n)
    index = HotIndex(31, metric=metric)
    index.add(ids, rows)
    for query in oracle.hard_queries(rng, 16, rows):
        for k in (1, 2, n - 1 or 1, n, n + 1, 10 * n, 2**63, 2**64 - 1, np.int8(3)):
            expected = oracle.search(ids, rows, query, int(k), metric)
            assert len(expected[0]) == min(int(k), n)
            assert oracle.same(index.search(query, k), expected)


def test_ties_are_ordered_by_id_whatever_the_order_of_arrival():
    index = HotIndex(2)
    for id_ in (5, 2**64 - 1, 3, 2**63, 4, 0):
        index.add(id_, [3, 4])
    assert index.search([1, 0], 9)[0].tolist() == [0, 3, 4, 5, 2**63, 2**64 - 1]
    assert index.search([1, 0], 2)[0].tolist() == [0, 3]


@pytest.mark.parametrize("metric", METRICS)
def test_a_batch_is_its_queries_one_by_one(metric):
    rng = np.random.default_rng(3)
    rows = oracle.hard_rows(rng, 90, 20, metric)
    index = HotIndex(20, metric=metric)
    index.add(range(90), rows)
    queries = oracle.hard_queries(rng, 33, rows)
    for k in (1, 12, 90, 400):
        ids, scores, counts = index.search_batch(queries, k)
        assert ids.shape == scores.shape == (33, min(k, 90))
        assert counts.tolist() == [min(k, 90)] * 33
        for at, query in enumerate(queries):
            assert oracle.same(index.search(query, k), (ids[at], scores[at]))


def test_an_empty_index_and_an_empty_batch():
    index = HotIndex(4)
    ids, scores = index.search(np.ones(4), 3)
    assert (ids.dtype, ids.shape, scores.dtype, scores.shape) == (np.uint64, (0,), np.float32, (0,))
    ids, scores, counts = index.search_batch(np.ones((2, 4)), 3)
    assert (ids.shape, scores.shape, counts.tolist()) == ((2, 0), (2, 0), [0, 0])
    ids, _, counts = filled().search_batch(np.ones((0, 4)), 3)
    assert (len(ids), len(counts)) == (0, 0)
    index.add([], [])
    index.add(np.empty(0, np.uint64), np.empty((0, 4)))
    index.remove([])
    assert len(index) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_unit_rows_are_taken_as_they_are(metric):
    """Bringing a vector to unit length twice gives the bits of doing it once."""
    rng = np.random.default_rng(5)
    once = oracle.unit(rng.standard_normal((200, 48), dtype=np.float32))
    index = HotIndex(48, metric=metric)
    index.add(range(200), once)
    for row in once[:30]:
        found = index.search(row, 200)
        assert oracle.same(
            found, oracle.best(np.arange(200, dtype=np.uint64), oracle.scores(row, once), 200)
        )


@pytest.mark.parametrize("scale", [1e-45, 1e-38, 1.0, 1e17])
def test_any_length_has_a_direction(scale):
    index = HotIndex(3)
    index.add([1, 2], np.array([[3, 0, 0], [0, 4, 4]], np.float32) * np.float32(scale))
    ids, scores = index.search(np.array([1, 0, 0], np.float32) * np.float32(scale), 2)
    assert ids.tolist() == [1, 2]
    assert scores.tolist() == [1, 0]


# --- what is read --------------------------------------------------------------------------------

GIVEN = {
    "list": lambda x: x.tolist(),
    "tuple of arrays": lambda x: tuple(map(tuple, x.tolist())),
    "float16": lambda x: x.astype(np.float16),
    "float64": lambda x: x.astype(np.float64),
    "longdouble": lambda x: x.astype(np.longdouble),
    "int8": lambda x: x.astype(np.int8),
    "int64": lambda x: x.astype(np.int64),
    "uint8": lambda x: (x - x.min()).astype(np.uint8),
    "big-endian": lambda x: x.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes(), np.float32).reshape(x.shape),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "misaligned": lambda x: np.frombuffer(b"x" + x.tobytes(), np.float32, offset=1).reshape(
        x.shape
    ),
}


@pytest.mark.parametrize(
    "give",
    [pytest.param(give, id=name) for name, give in GIVEN.items()],
)
def test_rows_and_queries_of_any_layout(give):
    rng = np.random.default_rng(7)
    rows = give(rng.integers(-9, 9, (30, 5)).astype(np.float32) + np.float32(0))
    index = HotIndex(5, metric="ip")
    index.add(range(30), rows)
    ids, scores, _ = index.search_batch(rows, 30)
    plain = np.asarray(rows, np.float32)
    for at in range(30):
        expected = oracle.search(range(30), plain, plain[at], 30, "ip")
        assert oracle.same((ids[at], scores[at]), expected)
        assert oracle.same(index.search(rows[at], 30), expected)


def test_the_array_is_copied():
    rows = np.eye(3, dtype=np.float32)
    index = HotIndex(3)
    index.add(range(3), rows)
    rows[:] = 7
    assert index.search([0, 1, 0], 1)[0] == [1]


@pytest.mark.parametrize(
    "ids",
    [
        [7, 9],
        (7, 9),
        range(7, 11, 2),
        np.array([7, 9], np.int8),
        np.array([7, 9], np.uint16),
        np.array([7, 9], np.int64),
        np.array([7, 9], np.uint64),
        np.array([7, 9], ">i8"),
        np.array([7, 9], object),
        [7, np.uint64(9)],
        np.array([7, 0, 9, 0], np.int32)[::2],
        np.array([7, 0, 9, 0])[::2],
        np.array([[7, 1], [9, 1]], np.uint64)[:, 0],
    ],
    ids=repr,
)
def test_ids_of_any_integer_type(ids):
    index = HotIndex(2, metric="ip")
    index.add(ids, [[1, 0], [2, 0]])
    assert index.search([1, 0], 2)[0].tolist() == [9, 7]
    index.remove(ids)
    assert len(index) == 0


@pytest.mark.parametrize("form", [
    lambda ids: np.array(ids, np.uint64),
    lambda ids: np.array(ids, object),
    list,
], ids=["uint64", "object", "list"])  # fmt: skip
def test_the_whole_range_of_ids(form):
    ids = [0, 2**63 - 1, 2**63, 2**64 - 1]
    index = HotIndex(1, metric="ip")
    index.add(form(ids), [[1]] * 4)
    assert index.search([1], 9)[0].tolist() == ids
    assert 2**64 - 1 in index
    assert index.search([1], 9, where=Filter(ids=form(ids[:3])))[0].tolist() == ids[:3]
    index.remove(form(ids[1:]))
    assert index.search([1], 9)[0].tolist() == [0]


# --- coming and going ----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_adds_removes_and_re_adds(metric):
    """What was removed is not returned until it is added again; enough to compact several times."""
    rng = np.random.default_rng(11)
    pool = oracle.hard_rows(rng, 3000, 9, metric)
    index, kept = HotIndex(9, metric=metric), {}
    for turn in range(120):
        fresh = rng.choice(600, size=int(rng.integers(1, 60)), replace=False)
        fresh = [int(id_) for id_ in fresh if id_ not in kept]
        rows = pool[rng.integers(len(pool), size=len(fresh))]
        index.add(fresh, rows)
        kept.update(zip(fresh, rows, strict=True))
        leaving = [id_ for id_ in kept if rng.random() < (0.9 if turn % 9 == 8 else 0.06)]
        index.remove(leaving)
        for id_ in leaving:
            del kept[id_]
        assert len(index) == len(kept)
        assert all((id_ in index) == (id_ in kept) for id_ in range(600))
        query = pool[turn]
        expected = oracle.search(list(kept), np.array(list(kept.values())).reshape(-1, 9), query,
                                 25, metric) if kept else ([], [])  # fmt: skip
        if kept:
            assert oracle.same(index.search(query, 25), expected)


def test_labels_go_with_their_entry():
    index = HotIndex(1)
    index.add([1, 2], [[1], [1]], tenant=[7, 8])
    index.remove([1])
    index.add([1], [[1]], tenant=8)
    assert index.search([1], 9, where=Filter(tenant=7))[0].tolist() == []
    assert index.search([1], 9, where=Filter(tenant=8))[0].tolist() == [1, 2]


ALL_OR_NONE = {
    "an id that is there": (DuplicateIdError, lambda i: i.add([8, 1], np.ones((2, 4)))),
    "an id twice": (DuplicateIdError, lambda i: i.add([8, 8], np.ones((2, 4)))),
    "a NaN": (NotFiniteError, lambda i: i.add([8, 9], [[1, 1, 1, 1], [1, np.nan, 1, 1]])),
    "too long": (InvalidInputError, lambda i: i.add([8, 9], [[1, 1, 1, 1], [1e19, 0, 0, 0]])),
    "an unknown id": (UnknownIdError, lambda i: i.remove([1, 8])),
    "removed twice": (UnknownIdError, lambda i: i.remove([1, 1])),
    "a label too few": (InvalidInputError, lambda i: i.add([8, 9], np.ones((2, 4)), at=[1, 2, 3])),
}


@pytest.mark.parametrize(("error", "use"), ALL_OR_NONE.values(), ids=ALL_OR_NONE)
def test_all_or_none(error, use):
    index = filled()
    before = state(index)
    with pytest.raises(error):
        use(index)
    assert oracle.same(state(index), before)
    assert len(index) == 3
    assert 8 not in index


def test_a_zero_vector_has_no_cosine():
    index = filled(metric="cosine")
    with pytest.raises(ZeroNormError, match="vector 1 has zero norm"):
        index.add([8, 9], [[1, 0, 0, 0], [0, -0.0, 0, 0]])
    with pytest.raises(ZeroNormError):
        index.search([0, 0, 0, 0], 1)
    with pytest.raises(ZeroNormError, match="vector 2"):
        index.search_batch(np.eye(4)[[0, 1, 0]] * [[1], [1], [0]], 1)
    assert filled(metric="ip").search([0, 0, 0, 0], 2)[0].tolist() == [0, 1]


# --- filters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_a_filter_is_a_search_of_the_subset(metric):
    rng = np.random.default_rng(13)
    n, dim = 600, 24
    rows, ids = oracle.hard_rows(rng, n, dim, metric), oracle.hard_ids(rng, n)
    labels = {
        "tenant": rng.integers(0, 3, n),
        "conversation": rng.integers(0, 6, n).astype(np.uint32),
        "at": rng.integers(-50, 50, n),
    }
    kinds = rng.choice([0, 1, 4, 65_535], n)
    index = HotIndex(dim, metric=metric)
    for kind, name in ((0, None), (1, "turn"), (4, "summary"), (65_535, 65_535)):
        chosen = np.flatnonzero(kinds == kind)
        given = {key: column[chosen].copy() for key, column in labels.items()}
        index.add(ids[chosen], rows[chosen], kind=name, **given)
    gone = rng.choice(n, 60, replace=False)
    index.remove(ids[gone])
    present = np.ones(n, bool)
    present[gone] = False

    seen = set()
    for query in oracle.hard_queries(rng, 250, rows):
        some = {
            key: value
            for key, value in {
                "tenant": int(rng.integers(4)),
                "conversation": int(rng.integers(7)),
                "kind": [0, 1, "turn", "summary", 65_535, "item"][rng.integers(6)],
                "since": int(rng.integers(-60, 60)),
                "before": int(rng.integers(-60, 60)),
                "ids": rng.permutation(ids)[: rng.integers(n)],
                "exclude": rng.permutation(ids)[: rng.integers(n)].tolist(),
                "role": int(rng.integers(2)),
                "branches": True,
            }.items()
            if rng.random() < 0.25
        }
        if "exclude" in some:
            some["exclude"] = np.array(some["exclude"], np.uint64)
        allowed = present.copy()
        for key in ("tenant", "conversation"):
            if key in some:
                allowed &= labels[key] == some[key]
        if "kind" in some:
            number = {"turn": 1, "summary": 4, "item": 9}.get(some["kind"], some["kind"])
            allowed &= kinds == number
        allowed &= labels["at"] >= some.get("since", -100)
        allowed &= labels["at"] < some.get("before", 100)
        if "ids" in some:
            allowed &= np.isin(ids, some["ids"])
        allowed &= ~np.isin(ids, some.get("exclude", []))
        if some.get("role"):
            allowed &= False  # nothing here has a role
        found = index.search(query, 12, where=Filter(**some))
        if not allowed.any():
            assert len(found[0]) == 0
            continue
        assert oracle.same(found, oracle.search(ids[allowed], rows[allowed], query, 12, metric))
        seen.add(min(int(allowed.sum()), 13))
    assert {1, 13} <= seen, "filters that leave little and much were both drawn"


def test_bounds_of_time_are_half_open():
    index = HotIndex(1)
    index.add([1, 2, 3], [[1]] * 3, at=[-(2**63), 0, 2**63 - 1])
    for since, before, expected in (
        (None, 0, [1]), (0, None, [2, 3]), (0, 1, [2]), (1, 0, []), (-(2**63), 2**63 - 1, [1, 2]),
    ):  # fmt: skip
        found = index.search([1], 9, where=Filter(since=since, before=before))
        assert found[0].tolist() == expected


@pytest.mark.parametrize(
    "ids",
    [
        [2, 1, 99],
        (1, 2),
        range(1, 3),
        np.array([2, 1]),
        [2, 1, 1, 99],
        {1, 2},
    ],
    ids=repr,
)  # fmt: skip
def test_ids_of_a_filter(ids):
    index = filled()
    assert sorted(index.search(np.ones(4), 9, where=Filter(ids=ids))[0].tolist()) == [1, 2]
    assert index.search(np.ones(4), 9, where=Filter(exclude=ids))[0].tolist() == [0]
    assert index.search(np.ones(4), 9, where=Filter(ids=[]))[0].tolist() == []


BAD_FILTERS = {
    "tenant": ["x", -1, 2**32, 1.0],
    "conversation": ["log", -1, 2**40],
    "kind": ["nothing", -1, 70_000, 1.5],
    "role": ["user", -1, 70_000],
    "since": ["yesterday", 1.5, 2**63],
    "before": ["yesterday", 1.5, -(2**63) - 1],
    "ids": [[-1], [1.5], "ab", [[1]], [2**64]],
    "exclude": [[-1], [1.5], "ab", [None]],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_FILTERS.items() for value in values],
)
def test_a_filter_of_the_wrong_things_is_refused(name, value):
    with pytest.raises(InvalidInputError, match=name):
        filled().search(np.ones(4), 1, where=Filter(**{name: value}))


@pytest.mark.parametrize("where", [..., 3, {}, "tenant"], ids=repr)
def test_what_is_no_filter_is_refused(where):
    with pytest.raises(InvalidInputError, match="where"):
        filled().search(np.ones(4), 1, where=where)


# --- threads -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("busy_interpreter")
def test_searches_while_one_adds_and_removes():
    """Each search sees some prefix of what was added, whole batches only, never what never was."""
    rng = np.random.default_rng(17)
    rows, step = rng.standard_normal((2000, 16), dtype=np.float32), 20
    ids = np.arange(2000, dtype=np.uint64)
    queries = rows[:8]
    scores = [oracle.scores(query, rows) for query in queries]
    index = HotIndex(16, metric="ip")
    index.add([2**64 - 1], np.full((1, 16), 1e17))
    failures, done = [], threading.Event()

    def look(me):
        turns = 0
        while not done.is_set() or turns < 5:
            turns += 1
            low = len(index)
            found = index.search(queries[me], 2001)
            high = len(index)
            n = len(found[0]) - (2**64 - 1 in found[0].tolist())
            at = found[0] != 2**64 - 1
            expected = oracle.best(ids[:n], scores[me][:n], n)
            whole = n % step == 0 and low - 1 <= n <= high
            if not whole or not oracle.same((found[0][at], found[1][at]), expected):
                failures.append((me, low, n, high))
                return

    threads = [threading.Thread(target=look, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for start in range(0, 2000, step):
        index.add(ids[start : start + step], rows[start : start + step])
        if start == 1000:
            index.remove([2**64 - 1])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index) == 2000
    assert oracle.same(index.search(queries[0], 2000), oracle.best(ids, scores[0], 2000))


@pytest.mark.usefixtures("busy_interpreter")
def test_an_id_is_added_once_by_however_many_threads():
    index, won = HotIndex(2), []

    def add(me):
        for id_ in range(200):
            try:
                index.add([id_], [[me + 1, 1]])
            except DuplicateIdError:
                continue
            won.append((id_, me))

    threads = [threading.Thread(target=add, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(id_ for id_, _ in won) == list(range(200))
    assert len(index) == 200
    rows = np.array([[dict(won)[id_] + 1, 1] for id_ in range(200)], np.float32)
    expected = oracle.search(range(200), rows, [1, 0], 200, "cosine")
    assert oracle.same(index.search([1, 0], 200), expected)
