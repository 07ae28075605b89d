"""Which candidates say what others say, as far as the vectors of the store tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from warmset.compact.distil import MEMORY_TYPES
from warmset.items.dedupe import SAME
from warmset.items.existing import MESSAGE
from warmset.store.records import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warmset.embed import Vectors
    from warmset.items.items import Sources
    from warmset.items.shelf import Shelf
    from warmset.route.candidates import Candidate
    from warmset.store.records import View

    RowsOf: TypeAlias = Callable[[Sequence[Candidate]], Mapping[int, Vectors]]

MOST_ROWS: Final = 1_024
"""The most vectors that are compared with each other: those of the worthiest candidates."""


class Likeness:
    """Compares candidates by their vectors, once one of them is asked about.

    Args:
        vectors: Returns the vectors of candidates, each of unit length; None if there are none.
        candidates: The candidates.
    """

    def __init__(self, vectors: RowsOf | None, candidates: Sequence[Candidate]) -> None:
        self._vectors = vectors
        self._candidates = candidates
        self._near: Mapping[int, Sequence[int]] | None = None

    def near(self, id_: int) -> Sequence[int]:
        """Return the candidates that say all that one says.

        Each vector of the one has a cosine of at least 0.95 with some vector of the other.
        """
        if self._near is None:
            self._near = {} if self._vectors is None else self._compared(self._vectors)
        return self._near.get(id_, ())

    def _compared(self, vectors: RowsOf) -> dict[int, list[int]]:
        found = vectors(self._candidates)
        ids: list[int] = []
        starts: list[int] = []
        count = 0
        for one in self._candidates:
            rows = found.get(one.id)
            if rows is None or not len(rows):
                continue
            if count + len(rows) > MOST_ROWS:
                break
            ids.append(one.id)
            starts.append(count)
            count += len(rows)
        if len(ids) < 2:  # noqa: PLR2004 - there is no other one
            return {}
        stack = np.concatenate([found[id_] for id_ in ids])
        best = np.maximum.reduceat(stack @ stack.T, starts, axis=1)
        covered = np.minimum.reduceat(best, starts, axis=0) >= SAME
        np.fill_diagonal(covered, val=False)
        return {
            id_: [ids[at] for at in np.flatnonzero(row)]
            for id_, row in zip(ids, covered, strict=True)
        }


class StoredVectors:
    """The vectors that a store has of candidates.

    Args:
        sources: The items, memories and messages of a tenant.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def __call__(self, some: Sequence[Candidate]) -> dict[int, Vectors]:
        """Return the vectors of candidates by id, shape (passages, dim), without those of none.

        All are of one embedder, so that they can be compared even if the store was opened with
        another one.

        Raises:
            StoreError: The store could not be read.
        """
        indexer = self._sources.handle.engine.indexer
        if indexer is None:
            return {}
        shelf = self._sources.as_seen()
        found = ((one.id, indexer.book.read(Job(one.id, _view(shelf, one)))) for one in some)
        return {id_: rows for id_, rows in found if rows is not None}


def _view(shelf: Shelf, one: Candidate) -> View:
    """Return the view whose vectors stand for a candidate."""
    if one.id in shelf:
        return "item"
    if one.memory_type == MESSAGE:
        return "turn"
    return "memory" if one.memory_type in MEMORY_TYPES else "item"
