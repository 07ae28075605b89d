"""Counting tokens against rs-bpe and tiktoken: half a megabyte in messages."""

from __future__ import annotations

from benches.python.cases import contestants, measure
from warmset.lab.bench.count import count


@contestants(*(count(encoding, 3_000) for encoding in ("o200k_base", "cl100k_base")))
def test_counting_half_a_megabyte(benchmark, tmp_path, case, name):
    measure(benchmark, tmp_path, case, name)
