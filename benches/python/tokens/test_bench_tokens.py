"""Counting tokens against rs-bpe: prose, code, scripts, cut into messages."""

from __future__ import annotations

from itertools import count

import pytest

from benches.python import material
from warmset._core import count_texts


@pytest.mark.parametrize("name", ["warmset", "rs-bpe"])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_counting_half_a_megabyte(benchmark, encoding, name):
    benchmark.group = f"count tokens, {encoding}, 0.5 MB in messages, each text once"
    rs_bpe = pytest.importorskip("rs_bpe")
    reference = getattr(rs_bpe.openai, encoding)()
    parts = [material.corpus(part) for part in range(material.PARTS)]
    expected = [[len(reference.encode(text)) for text in part] for part in parts]
    number, found = count(), []

    def ours():
        found.append(count_texts(parts[next(number)], encoding))

    def theirs():
        found.append([reference.count(text) for text in parts[next(number)]])

    benchmark.pedantic(ours if name == "warmset" else theirs, rounds=material.PARTS)
    assert found == expected[: len(found)]
    assert found
    if benchmark.stats:
        size = sum(len(text.encode()) for part in parts for text in part) / len(parts)
        benchmark.extra_info["MB/s"] = size / 1e6 / benchmark.stats.stats.median
