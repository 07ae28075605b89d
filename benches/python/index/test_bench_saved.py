"""StoreOptions a saved index, and filters of a large one beside the scan that they save."""

from __future__ import annotations

import numpy as np
import pytest

from warmset import Filter
from warmset.native import HotIndex

DIM = 384
SIZES = (100_000, 1_000_000)
STEP = 50_000
TURNS = 100
"""Turns of a conversation; conversations come one after the other."""


class Case:
    """A saved index of random rows, made again block by block where a bench asks for its rows."""

    def __init__(self, n, path):
        self.n, self.path = n, path
        self.index = HotIndex(DIM, metric="ip")
        self.kinds = np.random.default_rng(n).integers(0, 50, n)
        for start in range(0, n, STEP):
            ids = np.arange(start, start + STEP)
            self.index.add(
                ids,
                self.rows(start),
                tenant=ids % 3,
                conversation=ids // TURNS,
                kind=self.kinds[ids],
                at=ids * 1_000,
            )
        self.index.save(path)

    def rows(self, start):
        rng = np.random.default_rng([self.n, start])
        return rng.standard_normal((STEP, DIM), dtype=np.float32)


@pytest.fixture(scope="module", params=SIZES)
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp("saved") / "index")


def test_open(benchmark, case):
    benchmark.group = f"open {case.n} x {DIM}"
    opened = benchmark(lambda: HotIndex.open(case.path))
    query, where = case.rows(0)[7], Filter(conversation=3)
    assert len(opened) == case.n
    one, other = opened.search(query, 12, where=where), case.index.search(query, 12, where=where)
    assert [part.tolist() for part in one] == [part.tolist() for part in other]


FILTERS = {
    "everything": lambda _: None,
    "one conversation": lambda _: Filter(conversation=3),
    "one conversation of a tenant": lambda _: Filter(tenant=1, conversation=3),
    "a hundredth of the time": lambda n: Filter(since=n * 500, before=n * 510),
    "one kind of fifty": lambda _: Filter(kind=7),
    "a kind that there is not": lambda _: Filter(kind=77),
    "every thousandth id": lambda n: Filter(ids=range(0, n, 1_000)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filter(benchmark, case, name):
    benchmark.group = f"search with a filter, k=12, {case.n} x {DIM}"
    where = FILTERS[name](case.n)
    query = case.rows(0)[7]
    ids, _ = benchmark(lambda: case.index.search(query, 12, where=where))
    ids = ids.astype(np.int64)
    passes = {
        "everything": ids >= 0,
        "one conversation": ids // TURNS == 3,
        "one conversation of a tenant": (ids // TURNS == 3) & (ids % 3 == 1),
        "a hundredth of the time": (ids >= case.n // 2) & (ids < case.n * 51 // 100),
        "one kind of fifty": case.kinds[ids] == 7,
        "a kind that there is not": ids < 0,
        "every thousandth id": ids % 1_000 == 0,
    }
    assert passes[name].all()
    assert len(ids) == (0 if name == "a kind that there is not" else 12)
