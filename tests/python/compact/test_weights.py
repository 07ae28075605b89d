"""Weights of a compaction: what they may be."""

from __future__ import annotations

import math

import pytest

from warmset.compact import CompactWeights
from warmset.errors import InvalidInputError


@pytest.mark.parametrize("given", [1, 0, "yes", None])
def test_the_check_of_facts_is_on_or_off(given):
    with pytest.raises(InvalidInputError, match="fact_check: expected a bool"):
        CompactWeights(fact_check=given)


@pytest.mark.parametrize("name", ["recency", "similarity", "coverage", "user", "tool", "other"])
@pytest.mark.parametrize("given", [-0.001, math.inf, math.nan, "1", None, True])
def test_a_weight_is_a_number_of_at_least_0(name, given):
    with pytest.raises(InvalidInputError, match=f"{name}: expected a finite number"):
        CompactWeights(**{name: given})
    assert getattr(CompactWeights(**{name: 0}), name) == 0


@pytest.mark.parametrize("given", [0.0, 1.001])
def test_twins_are_texts_that_are_like_each_other(given):
    with pytest.raises(InvalidInputError, match="same"):
        CompactWeights(same=given)
    assert CompactWeights(same=1).same == 1
