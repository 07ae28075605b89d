"""Packing 1,000 conversations of 500 candidates each, against a loop in Python."""

from __future__ import annotations

from benches.python.cases import contestants, measure
from warmset.lab.bench.window import pack


@contestants(pack(1_000, 500))
def test_packing_a_thousand_lists(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)
