"""The rows of each turn's vectors that are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset.embed.base import CONTEXT_SHARE
from warmset.store.records import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from warmset._core import Retriever
    from warmset.embed import Vectors
    from warmset.index.vector_catalog import VectorBook


class Searched:
    """Publishes vectors: a turn's own rows, or the weighted mean of its row and its context's.

    Args:
        retriever: Returns what searches the rows.
        book: Reads the stored vectors.
        contexts: Whether contexts are used.
        share: The part of the mean that is the context's.
    """

    def __init__(
        self,
        retriever: Callable[[], Retriever],
        book: VectorBook,
        *,
        contexts: bool,
        share: float = CONTEXT_SHARE,
    ) -> None:
        self._retriever = retriever
        self._book = book
        self._contexts = contexts
        self._share = share
        self._rows: dict[int, Vectors] = {}

    def clear(self) -> None:
        """Remove all rows: another embedder's will replace them."""
        self._retriever().clear_vectors()
        self._rows.clear()

    def drop(self, ids: Collection[int]) -> None:
        """Remove erased turns."""
        for id_ in self._rows.keys() & set(ids):
            del self._rows[id_]

    def restore(self, id_: int) -> None:
        """Load a turn's vectors from the store, if they are there.

        Raises:
            StoreError: They could not be read.
        """
        own = self._book.read(Job(id_, "turn"))
        if own is not None:
            self._put(id_, own, self._context(id_))

    def publish(self, made: Sequence[tuple[Job, Vectors]]) -> None:
        """Publish stored vectors, each turn's once.

        Raises:
            StoreError: A turn's other vectors could not be read.
        """
        turns = {job.id: rows for job, rows in made if job.view == "turn"}
        contexts = {job.id: rows for job, rows in made if job.view == "context"}
        for id_ in dict.fromkeys(job.id for job, _ in made):
            own = turns.get(id_)
            if own is None and (own := self._rows.get(id_)) is None:
                own = self._book.read(Job(id_, "turn"))
            if own is not None:
                context = contexts.get(id_)
                self._put(id_, own, self._context(id_) if context is None else context)

    def _context(self, id_: int) -> Vectors | None:
        return self._book.read(Job(id_, "context")) if self._contexts else None

    def _put(self, id_: int, own: Vectors, context: Vectors | None) -> None:
        self._retriever().put_vectors(id_, mean(own, context, self._share))
        # A single passage waits for its context, which exists after the next message.
        if self._contexts and context is None and len(own) == 1:
            self._rows[id_] = own
        else:
            self._rows.pop(id_, None)


def mean(own: Vectors, context: Vectors | None, share: float = CONTEXT_SHARE) -> Vectors:
    """Return the rows to search: the mean of turn and context, or the turn's passages.

    Args:
        own: The rows of the turn's passages.
        context: The row of its context, if there is one.
        share: The part of the mean that is the context's.
    """
    if context is None or len(own) != 1:
        return own
    both: Vectors = (own * np.float32(1 - share) + context * np.float32(share)).astype(
        np.float32, copy=False
    )
    return both
