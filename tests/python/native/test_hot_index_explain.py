"""What a search says of itself: the codes that it read, the rows of each step, the bound."""

from __future__ import annotations

import numpy as np
import pytest

from warmset import Filter
from warmset.errors import InvalidInputError
from warmset.native import HotIndex, SearchExplanation, simd_tier

DIM = 384


def filled(n: int, directions: int) -> tuple[HotIndex, np.ndarray, np.ndarray]:
    """Index rows that differ in so many directions mostly; the last ones are queries."""
    rng = np.random.default_rng(n + directions)
    rows = rng.standard_normal((n + 4, DIM)).astype(np.float32)
    rows[:, directions:] *= 0.05
    index = HotIndex(DIM)
    index.add(np.arange(n), rows[:n], kind="turn")
    return index, rows[:n], rows[n:]


def codes(name: str) -> str:
    return "plain" if simd_tier() in {"scalar", "neon"} else name


@pytest.mark.parametrize(
    ("n", "directions", "head"),
    [(200, DIM, "plain"), (1_000, DIM, "int8"), (5_000, 60, "projected"), (5_000, DIM, "int8")],
)
def test_the_head_follows_the_rows(n: int, directions: int, head: str) -> None:
    index, _, queries = filled(n, directions)
    for query in queries:
        told = index.explain(query, 12)
        ids, scores = index.search(query, 12)
        assert np.array_equal(told.ids, ids)
        assert np.array_equal(told.scores, scores)
        assert told.heads == {codes(head): n}
        if codes(head) == "plain":
            assert (told.screened, told.exact, told.bytes_per_row) == (0, n, 0)
            assert told.bound == -np.inf
        else:
            assert told.screened + told.exact >= n
            assert told.exact < n / 10
            assert 0 < told.bytes_per_row < 4 * DIM
            assert (told.refined > 0) == (head != "int8")


def test_no_row_that_was_left_out_is_above_the_bound() -> None:
    index, rows, queries = filled(5_000, 60)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for query in queries:
        told = index.explain(query, 12)
        scores = np.sort(unit @ (query / np.linalg.norm(query)))[::-1]
        assert scores[told.exact] <= told.bound + 1e-6 or told.bound == -np.inf
        assert told.bound <= told.scores[-1]


def test_a_filter_is_explained_too() -> None:
    index, _, queries = filled(1_000, DIM)
    told = index.explain(queries[0], 3, where=Filter(ids=[1, 2, 3, 4]))
    assert (told.screened, told.exact) == (0, 4)
    assert set(told.ids.tolist()) < {1, 2, 3, 4}
    assert isinstance(told, SearchExplanation)
    assert "exact=4" in repr(told)


def test_what_cannot_be_searched_cannot_be_explained() -> None:
    index = HotIndex(3)
    with pytest.raises(InvalidInputError, match="k"):
        index.explain([1.0, 0.0, 0.0], 0)
    with pytest.raises(InvalidInputError):
        index.explain([1.0, 0.0], 1)
    assert index.explain([1.0, 0.0, 0.0], 1).ids.size == 0
