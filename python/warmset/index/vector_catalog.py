"""The catalog of stored vectors: of each turn, by embedder and view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import Erased, Locked
from warmset.store.records import VectorMeta, View

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from warmset._core import ColdStore
    from warmset.embed import Vectors
    from warmset.index.vectorizer import Vectorizer
    from warmset.store.records import Draft, Job


class VectorBook:
    """The records of vectors of all embedders.

    Args:
        store: The store.
        vectorizer: Has the generation of the current embedder.
    """

    def __init__(self, store: ColdStore, vectorizer: Vectorizer) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._seqs: dict[tuple[int, int, View], int] = {}
        self._twice: set[tuple[int, int]] = set()

    def __contains__(self, job: Job) -> bool:
        return (self._generation(), job.id, job.view) in self._seqs

    def turns(self) -> int:
        """Count the turns that have vectors of the current embedder."""
        now = self._generation()
        return sum(view == "turn" and made == now for made, _, view in list(self._seqs))

    def note(self, meta: VectorMeta, seq: int) -> bool:
        """Add a record; return whether it is new and of the current embedder."""
        self._vectorizer.seen(meta.generation)
        place = meta.generation, meta.of, meta.view
        known = self._seqs.get(place)
        fresh = known != seq
        if known is not None and fresh:
            self._twice.add((meta.generation, known))  # two processes made the same vectors
        self._seqs[place] = seq
        return fresh and meta.generation == self._generation()

    def read(self, job: Job) -> Vectors | None:
        """Read vectors of the current embedder, if there are any.

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
            # It was made from an erased turn, so it must be made again.
            self._seqs.pop(place, None)
            return None
        return VectorMeta.decode(record.meta).rows(record.payload)

    def keep(self, drafts: Sequence[Draft], made: Sequence[tuple[Job, Vectors]]) -> None:
        """Append records, those of vectors first.

        Raises:
            StoreError: They could not be stored; none was.
        """
        ids = self._store.append(drafts)
        current = self._generation()
        for (job, _), seq in zip(made, ids, strict=False):
            self._seqs[current, job.id, job.view] = seq

    def drop(self, ids: Collection[int]) -> None:
        """Remove erased turns."""
        for place in list(self._seqs):  # other threads add records meanwhile
            if place[1] in ids:
                self._seqs.pop(place, None)

    def erase_older(self) -> int:
        """Erase the vectors of earlier embedders, for every process.

        Returns:
            The number of erased records; their bytes are removed when the store is compacted. 0 if
            another process holds the store's lock; then the next call erases them.

        Raises:
            StoreError: They could not be erased.
        """
        current = self._generation()
        places = [(place, seq) for place, seq in list(self._seqs.items()) if place[0] < current]
        twice = [one for one in list(self._twice) if one[0] < current]
        seqs = sorted({seq for _, seq in [*places, *twice] if not self._is_erased(seq)})
        try:
            if seqs:
                self._store.erase(records=seqs)
        except Locked:
            return 0
        for place, _ in places:
            self._seqs.pop(place, None)
        self._twice.difference_update(twice)
        return len(seqs)

    def _is_erased(self, seq: int) -> bool:
        try:
            self._store.hash_of(seq)
        except Erased:
            return True
        return False

    def _generation(self) -> int:
        identity = self._vectorizer.identity
        return 0 if identity is None else identity.generation
