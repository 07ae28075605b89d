"""Cases of the exact index: one query, a batch, inserts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from warmset.lab.bench import material
from warmset.lab.bench.case import OURS, Case, Contest, expect
from warmset.lab.bench.vectors import (
    Faiss,
    Hnswlib,
    K,
    Usearch,
    near,
    numpy_batch,
    numpy_search,
    same_bits,
)
from warmset.native import HotIndex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from warmset.lab.bench.case import Call
    from warmset.lab.bench.vectors import Found, Rows

GRAPHS: Final = 20_000
"""Rows up to which a graph is built: it takes seconds for 10,000, and minutes for 100,000."""


def index_of(rows: Rows) -> HotIndex:
    """Return an index of warmset with these rows."""
    index = HotIndex(rows.shape[1], metric="ip")
    index.add(np.arange(len(rows)), rows)
    return index


@contextmanager
def one_query(
    given: Callable[[], tuple[Rows, Rows]], _: Path, wanted: Collection[str] | None
) -> Iterator[Contest]:
    """Search for one query after the other.

    Args:
        given: Returns rows and queries.
        wanted: The contestants.
    """
    rows, queries = given()
    m = len(queries)
    asked = (0, m // 2, m - 1)
    contest = Contest(wanted)
    index = index_of(rows)
    singles = [query[None] for query in queries]

    def right() -> None:
        for at in asked:
            found = index.search(queries[at], K)
            expect(same_bits(found, rows, queries[at]), "ids and scores of warmset's search")

    def exact(name: str, many: Callable[[Rows], Found]) -> Call:
        for at in asked:
            ids, scores = many(singles[at])
            expect(near((ids[0], scores[0]), rows, queries[at]), f"{name}'s search")
        return lambda at: many(singles[at % m])

    def numpys() -> Call:
        for at in asked:
            expect(near(numpy_search(rows, queries[at]), rows, queries[at]), "numpy's search")
        return lambda at: numpy_search(rows, queries[at % m])

    def graph() -> Call:
        made = Hnswlib(rows, queries)
        contest.notes["hnswlib"] = f"finds {made.recall:.1%} of the best"
        return lambda at: made.many(singles[at % m])

    contest.ours(lambda at: index.search(queries[at % m], K))
    contest.peer("faiss", lambda: exact("faiss", Faiss(rows).many))
    contest.peer("numpy", numpys)
    contest.peer("usearch", lambda: exact("usearch", Usearch(rows).many))
    if len(rows) <= GRAPHS:
        contest.peer("hnswlib", graph)
    right()
    contest.check = right
    yield contest


@contextmanager
def batch(
    given: Callable[[], tuple[Rows, Rows]], _: Path, wanted: Collection[str] | None
) -> Iterator[Contest]:
    """Search for 64 queries at once."""
    rows, queries = given()
    asked = (0, 9, len(queries) - 1)
    index = index_of(rows)
    contest = Contest(wanted)

    def right() -> None:
        ids, scores, counts = index.search_batch(queries, K)
        expect(counts.tolist() == [K] * len(queries), "the number of hits of warmset's batch")
        for at in asked:
            expect(same_bits((ids[at], scores[at]), rows, queries[at]), "warmset's batch")

    def checked(name: str, many: Callable[[Rows], Found]) -> Call:
        ids, scores = many(queries)
        for at in asked:
            expect(near((ids[at], scores[at]), rows, queries[at]), f"{name}'s batch")
        return lambda _: many(queries)

    contest.ours(lambda _: index.search_batch(queries, K))
    contest.peer("faiss", lambda: checked("faiss", Faiss(rows).many))
    contest.peer("numpy", lambda: checked("numpy", partial(numpy_batch, rows)))
    contest.peer("usearch", lambda: checked("usearch", Usearch(rows).many))
    right()
    contest.check = right
    yield contest


@contextmanager
def adding(
    given: Callable[[], tuple[Rows, Rows]], _: Path, wanted: Collection[str] | None
) -> Iterator[Contest]:
    """Put all rows into a new index at once."""
    rows, queries = given()
    contest = Contest(wanted, items=len(rows))
    last: dict[str, Any] = {}

    def ours(_: int) -> None:
        last[OURS] = index_of(rows)

    def faiss() -> Call:
        def make(_: int) -> None:
            last["faiss"] = Faiss(rows)

        make(0)
        return make

    def right() -> None:
        if index := last.get(OURS):
            expect(len(index) == len(rows), "the number of rows in warmset's index")
            expect(same_bits(index.search(queries[9], K), rows, queries[9]), "warmset's index")
        if peer := last.get("faiss"):
            ids, scores = peer.many(queries[9:10])
            expect(peer.index.ntotal == len(rows), "the number of rows in faiss' index")
            expect(near((ids[0], scores[0]), rows, queries[9]), "faiss' index")

    contest.ours(ours)
    contest.peer("faiss", faiss)
    contest.check = right
    yield contest


EXACT: Final = ("faiss", "numpy", "usearch")


Vectors: TypeAlias = Callable[[str, int], tuple["Rows", "Rows"]]
"""Returns rows and queries of a kind; see `material.vectors`."""


def search(kind: str, n: int, *, vectors: Vectors = material.vectors, quick: bool = True) -> Case:
    """Return the case of one query over n rows of a kind."""
    return Case(
        name=f"search-{n // 1000}k",
        group="index",
        what=f"one query, k = {K}, {n:,} x {material.DIM}",
        peers=(*EXACT, "hnswlib") if n <= GRAPHS else EXACT,
        open=partial(one_query, partial(vectors, kind, n)),
        quick=quick,
    )


def search_batch(kind: str, n: int, *, quick: bool = True) -> Case:
    """Return the case of 64 queries at once."""
    return Case(
        name=f"batch-{n // 1000}k",
        group="index",
        what=f"{material.QUERIES} queries at once, {n:,} x {material.DIM}",
        peers=EXACT,
        open=partial(batch, partial(material.vectors, kind, n)),
        quick=quick,
    )


def add(kind: str, n: int, *, quick: bool = True) -> Case:
    """Return the case of n rows that are put into a new index."""
    return Case(
        name=f"add-{n // 1000}k",
        group="index",
        what=f"one of {n:,} rows put into an index",
        peers=("faiss",),
        open=partial(adding, partial(material.vectors, kind, n)),
        quick=quick,
    )


CASES: Final = (
    search("clustered", 1_000),
    search("clustered", 10_000),
    search("clustered", 100_000, quick=False),
    search_batch("clustered", 10_000),
    add("clustered", 10_000),
)
