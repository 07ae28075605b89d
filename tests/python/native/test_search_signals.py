"""What each signal gave each hit, as the core keeps it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from warmset._core import SearchSignals
from warmset.errors import InvalidInputError
from warmset.retrieve.hits import SIGNALS


@pytest.fixture
def rows():
    return np.random.default_rng(3).random((7, len(SIGNALS)), np.float32)


def test_rows_and_columns_are_those_that_were_given(rows):
    made = SearchSignals(rows.T.tolist())
    for one in (made, copy.copy(made)):
        assert len(one) == 7
        for at in range(len(SIGNALS)):
            column = one.column(at)
            assert column.dtype == np.float32
            assert np.array_equal(column, rows[:, at])
        for at in range(7):
            assert one.row(at) == rows[at].tolist()


def test_what_is_not_there_is_told(rows):
    made = SearchSignals(rows.T.tolist())
    with pytest.raises(IndexError):
        made.column(len(SIGNALS))
    with pytest.raises(IndexError):
        made.row(7)
    for wrong in ([[1.0]] * 9, [[1.0]] * 11, [*[[1.0]] * 9, []]):
        with pytest.raises(InvalidInputError, match="columns: expected 10 of one length"):
            SearchSignals(wrong)


def test_a_match_needs_one_hit_with_enough_of_both():
    rows = np.zeros((3, len(SIGNALS)), np.float32)
    rows[1, SIGNALS.index("dense")] = 0.5
    rows[2, SIGNALS.index("lexical")] = 0.25
    made = SearchSignals(rows.T.tolist())
    assert made.match_by(1.0, 1.0, 0.5)
    assert not made.match_by(1.0, 1.0, 0.5000001)
    assert made.match_by(1.0, 4.0, 1.0)
    assert not made.match_by(1.0, 3.9, 1.0)
    assert not made.match_by(2.0, 4.0, 1.1)
    assert not SearchSignals([[]] * len(SIGNALS)).match_by(1.0, 1.0, 0.0)
