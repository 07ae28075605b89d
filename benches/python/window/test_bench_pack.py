"""Packing 1,000 conversations of 500 candidates each, against a loop in Python."""

from __future__ import annotations

import numpy as np
import pytest

from benches.python import peers
from warmset.native import pack_batch

LISTS, ITEMS = 1_000, 500


def problem():
    rng = np.random.default_rng(1)
    n = LISTS * ITEMS
    return (
        np.arange(0, n + 1, ITEMS),
        rng.integers(5, 400, n),
        np.round(rng.random(n), 3),  # thousandths, so that there are ties
        rng.integers(1_000, 8_000, LISTS),
    )


@pytest.mark.parametrize("name", ["warmset", "loop in Python"])
def test_packing_a_thousand_lists(benchmark, name):
    benchmark.group = "pack_batch, 1,000 x 500"
    arrays = problem()
    lists = [column.tolist() for column in arrays]
    if name == "warmset":
        chosen, ends = benchmark(lambda: pack_batch(*arrays))
    else:
        chosen, ends = benchmark.pedantic(lambda: peers.naive_pack(*lists), rounds=3)
    expected = peers.naive_pack(*lists)
    assert list(chosen) == expected[0]
    assert list(ends) == expected[1]
