"""Where the store has which vectors: each turn's, by embedder and view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import Erased
from warmset.records import VectorMeta, View

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from warmset._core import ColdStore
    from warmset.embed import Vectors
    from warmset.records import Draft
    from warmset.vectorize import Job, Vectorizer


class VectorBook:
    """The records of vectors, whoever made them.

    Args:
        store: Where they are kept.
        vectorizer: Tells which embedder's count at present.
    """

    def __init__(self, store: ColdStore, vectorizer: Vectorizer) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._seqs: dict[tuple[int, int, View], int] = {}

    def __contains__(self, job: Job) -> bool:
        return (self._generation(), job.id, job.view) in self._seqs

    def note(self, meta: VectorMeta, seq: int) -> bool:
        """Take note of a record; tells whether it is new and of the present embedder."""
        self._vectorizer.seen(meta.generation)
        place = meta.generation, meta.of, meta.view
        fresh = self._seqs.get(place) != seq
        self._seqs[place] = seq
        return fresh and meta.generation == self._generation()

    def read(self, job: Job) -> Vectors | None:
        """Read vectors of the present embedder, if there are any.

        Raises:
            StoreError: They could not be read.
        """
        place = self._generation(), job.id, job.view
        seq = self._seqs.get(place)
        if seq is None:
            return None
        try:
            record = self._store.get(seq)
        except Erased:
            # It was made from a turn that is gone: it is to be made anew.
            del self._seqs[place]
            return None
        return VectorMeta.decode(record.meta).rows(record.payload)

    def keep(self, drafts: Sequence[Draft], made: Sequence[tuple[Job, Vectors]]) -> None:
        """Append records, those of vectors first.

        Raises:
            StoreError: They could not be kept; none was.
        """
        ids = self._store.append(drafts)
        current = self._generation()
        for (job, _), seq in zip(made, ids, strict=False):
            self._seqs[current, job.id, job.view] = seq

    def drop(self, ids: Collection[int]) -> None:
        """Forget turns that were erased."""
        for place in [place for place in self._seqs if place[1] in ids]:
            del self._seqs[place]

    def _generation(self) -> int:
        identity = self._vectorizer.identity
        return 0 if identity is None else identity.generation
