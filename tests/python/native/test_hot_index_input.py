"""What the exact index refuses, and that it is then as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from warmset.errors import (
    DimensionError,
    InvalidInputError,
    NotFiniteError,
)
from warmset.native import HotIndex

METRICS = ["cosine", "ip"]


def filled(n=3, dim=4, metric="ip"):
    index = HotIndex(dim, metric=metric)
    index.add(np.arange(n), np.arange(1, n * dim + 1, dtype=np.float32).reshape(n, dim))
    return index


def state(index):
    return index.search(np.ones(index.dim), max(len(index), 1))


@pytest.mark.parametrize(
    "k", [0, -1, 1.0, 1.5, "1", None, [1], 2**64, np.float32(1), np.bool_(True), b"1",
          True], ids=repr,
)  # fmt: skip
def test_k_is_a_positive_integer(k):
    for use in (filled().search, filled().search_batch):
        with pytest.raises(InvalidInputError, match="k: expected an integer of at least 1"):
            use(np.ones(4), k)


NO_VECTORS = {
    "object": np.ones((1, 4), object),
    "complex": np.ones((1, 4), complex),
    "bool": np.ones((1, 4), bool),
    "list of bool": [[True, False, True, True]],
    "str": np.array([["1"] * 4]),
    "bytes": b"abcd",
    "text": "abcd",
    "dates": np.ones((1, 4), "M8[s]"),
    "None": None,
    "a set": {1, 2, 3, 4},
    "ragged": [[1, 2, 3, 4], [1]],
    "three dimensions": np.ones((1, 1, 4)),
}


@pytest.mark.parametrize("vectors", NO_VECTORS.values(), ids=NO_VECTORS)
def test_what_is_no_vector_is_refused(vectors):
    index = filled()
    uses = {
        "vectors": lambda: index.add([8], vectors),
        "query": lambda: index.search(vectors, 1),
        "queries": lambda: index.search_batch(vectors, 1),
    }
    for name, use in uses.items():
        with pytest.raises(InvalidInputError, match=f"{name}: "):
            use()
    assert len(index) == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("at", [0, 3])
def test_nan_and_infinity_are_refused_with_the_row(bad, metric, at):
    index = filled(metric=metric)
    rows = np.ones((3, 4), np.float32)
    rows[2, at] = bad
    with pytest.raises(NotFiniteError, match="vector 2"):
        index.add([7, 8, 9], rows)
    with pytest.raises(NotFiniteError, match="vector 2"):
        index.search_batch(rows, 1)
    with pytest.raises(NotFiniteError, match="vector 0"):
        index.search(rows[2], 1)


def test_a_double_that_no_float_holds_is_refused():
    with pytest.raises(InvalidInputError):
        filled().search([1e300, 0, 0, 0], 1)


def test_an_inner_product_cannot_overflow():
    index = filled()
    with pytest.raises(InvalidInputError, match="rescale"):
        index.add([8], [[1.1e18, 0, 0, 0]])
    with pytest.raises(InvalidInputError, match="rescale"):
        index.search([0, 0, 2e18, 0], 1)
    index.add([8], [[9e17, 0, 0, 0]])
    assert np.isfinite(index.search([9e17, 0, 0, 0], 1)[1]).all()


@pytest.mark.parametrize("shape", [(3,), (5,), (0,), (), (2, 3), (2, 5), (1, 0)], ids=repr)
def test_another_dimension_is_refused(shape):
    index = filled()
    for use in (lambda v: index.search(v, 1), lambda v: index.search_batch(v, 1)):
        with pytest.raises(DimensionError) as caught:
            use(np.ones(shape))
        assert caught.value.expected == 4
        assert caught.value.found != 4
    with pytest.raises(DimensionError):
        index.add([8, 9][: len(shape) or 1], np.ones(shape))


@pytest.mark.parametrize("shape", [(2, 2), (4, 1)], ids=repr)
def test_a_query_of_another_shape_is_refused(shape):
    with pytest.raises(InvalidInputError):
        filled().search(np.ones(shape), 1)


@pytest.mark.parametrize(
    ("ids", "rows"), [([8, 9], (3, 4)), ([8, 9], (1, 4)), ([8], (0, 4)), ([], (1, 4)), (8, (2, 4))]
)
def test_one_row_an_id(ids, rows):
    with pytest.raises(InvalidInputError, match="one an id"):
        filled().add(ids, np.ones(rows))


BAD_IDS = [
    [-1], [2**64], [2**70], [1.0], [1.5], np.array([1.0]), ["1"], "1", [True], np.array([True]),
    [None], None, [[1]], np.array([1.5], object), np.array([5], "M8[s]"), b"1",
    [float("nan")],
]  # fmt: skip


@pytest.mark.parametrize("ids", BAD_IDS, ids=repr)
def test_ids_are_integers_that_fit(ids):
    index = filled()
    with pytest.raises(InvalidInputError, match="ids: "):
        index.add(ids, np.ones((1, 4)))
    with pytest.raises(InvalidInputError, match="ids: "):
        index.remove(ids)
    assert len(index) == 3


LABELS = {
    "tenant": [-1, 2**32, 1.5, "a", [1, 2], [[1, 2, 3]], [], True],
    "conversation": [-1, 2**32, 1.5, [1, 2]],
    "at": [2**63, 1.5, "now", [1, 2]],
    "kind": ["nothing", 70_000, -1, ["turn"] * 3],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in LABELS.items() for value in values]
)
def test_labels_that_do_not_fit_are_refused(name, value):
    index = filled()
    with pytest.raises(InvalidInputError, match=name):
        index.add([7, 8, 9], np.ones((3, 4)), **{name: value})
    assert len(index) == 3


@pytest.mark.parametrize("dim", [0, -1, 65_537, 2**70, 1.0, "3", None], ids=repr)
def test_a_dimension_that_cannot_be(dim):
    with pytest.raises(InvalidInputError, match="dim: expected 1 to 65,536"):
        HotIndex(dim)


def test_the_largest_dimension():
    index = HotIndex(65_536, metric="ip")
    index.add([1], np.ones((1, 65_536)))
    assert index.search(np.ones(65_536), 1)[1] == [65_536]


@pytest.mark.parametrize("metric", ["l2", "", "COSINE", "dot"])
def test_a_metric_that_there_is_not(metric):
    with pytest.raises(InvalidInputError, match='metric: expected "cosine" or "ip"'):
        HotIndex(3, metric=metric)


def test_what_an_index_says_of_itself():
    index = filled()
    assert (index.dim, index.metric, len(index), 1 in index, 7 in index) == (
        4,
        "ip",
        3,
        True,
        False,
    )
    assert repr(index).startswith('HotIndex(dim=4, metric="ip", entries=3, simd=')
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(index)
