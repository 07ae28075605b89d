"""The catalog of stored vectors: of each turn, by embedder and view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from warmset.errors import Erased, IndexDamaged, Locked, NotFound
from warmset.store.records import View, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from warmset._core import ColdStore, SavedTurns
    from warmset.embed import Vectors
    from warmset.index.vectorizer import Vectorizer
    from warmset.store.records import Draft, Job, VectorMeta


_Place = tuple[int, int, View]
"""The generation of an embedder, what was embedded, and the view."""

_VIEWS: Final[tuple[View, ...]] = get_args(View)
"""By their numbers in a saved file: further ones come last."""


def no_rows() -> NDArray[np.uint64]:
    """Return what `VectorBook.rows` returns of no vectors."""
    return np.empty((0, 4), np.uint64)


class VectorBook:
    """The records of vectors of all embedders; those of a saved file are looked up in it.

    Args:
        store: The store.
        vectorizer: Has the generation of the current embedder.
    """

    def __init__(self, store: ColdStore, vectorizer: Vectorizer) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._seqs: dict[_Place, int] = {}
        self._twice: set[tuple[int, int]] = set()
        self._saved: SavedTurns | None = None
        self._counted = 0, 0  # a generation, and the turns that the file has vectors of by it
        self._gone: set[int] = set()  # what was erased since it was saved
        self._left: set[_Place] = set()  # saved places whose record is of no use any more

    def __contains__(self, job: Job) -> bool:
        return self._record((self._generation(), job.id, job.view)) is not None

    def restore(
        self,
        saved: SavedTurns,
        newest: int,
        twice: Sequence[tuple[int, int]],
        counted: tuple[int, int],
    ) -> None:
        """Look vectors up in a saved file that has all records up to one.

        Args:
            saved: The file.
            newest: The highest generation of an embedder.
            twice: Generations and records of vectors that were made twice.
            counted: A generation, and how many turns the file has vectors of by it.
        """
        self._saved, self._counted = saved, counted
        self._vectorizer.seen(newest)
        self._twice.update((generation, record) for generation, record in twice)

    def rows(self) -> NDArray[np.uint64]:
        """Return where all vectors lie, shape (n, 4): of, generation, view, record.

        Raises:
            IndexDamaged: The saved file is damaged.
        """
        saved = self._kept()
        own = [
            (of, generation, _VIEWS.index(view), record)
            for (generation, of, view), record in list(self._seqs.items())
        ]
        fresh = np.array(own, np.uint64).reshape(-1, 4)
        return np.concatenate([saved, fresh])

    def release(self) -> None:
        """Use the saved file no more."""
        self._saved = None

    def twice(self) -> list[tuple[int, int]]:
        """Return generations and records of vectors that were made twice, for `restore`."""
        return sorted(self._twice)

    def turns(self) -> int:
        """Count the turns that have vectors of the current embedder."""
        now, places = self._generation(), list(self._seqs)
        own = {of for made, of, view in places if view == "turn" and made == now}
        try:
            return len(own) + self._count_saved(now, own)
        except IndexDamaged:
            return len(own)

    def counted(self) -> tuple[int, int]:
        """Return the generation of the current embedder, and the count of turns, for `restore`."""
        return self._generation(), self.turns()

    def _count_saved(self, now: int, own: set[int]) -> int:
        """Count the turns of which the saved file alone has vectors by an embedder.

        Raises:
            IndexDamaged: It is damaged.
        """
        saved, turn = self._saved, _VIEWS.index("turn")
        if saved is None:
            return 0
        if self._counted[0] != now:
            rows = saved.vectors()
            count = int(((rows[:, 1] == now) & (rows[:, 2] == turn)).sum())
            self._counted = now, count
        left = {of for made, of, view in list(self._left) if view == "turn" and made == now}
        others = own | left | self._gone
        return self._counted[1] - sum(saved.vector(of, now, turn) is not None for of in others)

    def _record(self, place: _Place) -> int | None:
        """Return the record of vectors; None without any."""
        found, saved = self._seqs.get(place), self._saved
        generation, of, view = place
        if found is not None or saved is None or of in self._gone or place in self._left:
            return found
        try:
            return saved.vector(of, generation, _VIEWS.index(view))
        except IndexDamaged:  # they are made again
            return None

    def _kept(self) -> NDArray[np.uint64]:
        """Return the rows of the saved file that hold; those made since are not among them.

        Raises:
            IndexDamaged: It is damaged.
        """
        if self._saved is None:
            return no_rows()
        rows = self._saved.vectors()
        newer = {
            (of, generation, _VIEWS.index(view))
            for generation, of, view in [*list(self._seqs), *list(self._left)]
        }
        gone = np.array(sorted({*self._gone, *(of for of, _, _ in newer)}), np.uint64)
        near = np.flatnonzero(np.isin(rows[:, 0], gone))
        left = [
            at
            for at, (of, generation, view, _record) in zip(
                near.tolist(), rows[near].tolist(), strict=True
            )
            if of in self._gone or (of, generation, view) in newer
        ]
        return np.delete(rows, left, axis=0)

    def _all(self) -> Iterator[tuple[_Place, int]]:
        try:
            rows = self.rows()
        except IndexDamaged:  # the file goes next, and with it what is not known now
            self._saved = None
            rows = self.rows()
        for of, generation, view, record in rows.tolist():
            yield (generation, of, _VIEWS[view]), record

    def note(self, meta: VectorMeta, seq: int) -> bool:
        """Add a record; return whether it is new and of the current embedder."""
        self._vectorizer.seen(meta.generation)
        place = meta.generation, meta.of, meta.view
        known = self._record(place)
        fresh = known != seq
        if known is not None and fresh:
            self._twice.add((meta.generation, known))  # two processes made the same vectors
        if fresh:
            self._seqs[place] = seq
        return fresh and meta.generation == self._generation()

    def read(self, job: Job) -> Vectors | None:
        """Read vectors of the current embedder, if there are any.

        Raises:
            StoreError: They could not be read.
        """
        identity = self._vectorizer.identity
        if identity is None:
            return None
        place = identity.generation, job.id, job.view
        seq = self._record(place)
        if seq is None:
            return None
        try:
            record = self._store.get(seq)
        except (Erased, NotFound):
            # It was made from an erased turn, so it must be made again.
            self._forget(place)
            return None
        return vectors_of(record.payload, identity.dim, record.kind)

    def keep(self, drafts: Sequence[Draft], made: Sequence[tuple[Job, Vectors]]) -> None:
        """Append records, those of vectors first.

        Raises:
            StoreError: They could not be stored; none was.
        """
        ids = self._store.append(drafts)
        current = self._generation()
        for (job, _), seq in zip(made, ids, strict=False):
            place = current, job.id, job.view
            known = self._record(place)
            if known is not None and known != seq:  # another process made them meanwhile
                self._twice.add((current, known))
            self._seqs[place] = seq

    def drop(self, ids: Collection[int]) -> None:
        """Remove erased turns."""
        for place in list(self._seqs):  # other threads add records meanwhile
            if place[1] in ids:
                self._seqs.pop(place, None)
        if self._saved is not None:
            self._gone.update(ids)

    def review(self, ids: Iterable[int], is_gone: Callable[[int], bool]) -> None:
        """Forget vectors of turns that were erased with others: they are made again.

        Args:
            ids: The turns.
            is_gone: Tells whether a record was erased or removed.
        """
        generation = self._generation()
        for id_ in ids:
            for view in _VIEWS:
                place = generation, id_, view
                record = self._record(place)
                if record is not None and is_gone(record):
                    self._forget(place)

    def _forget(self, place: _Place) -> None:
        self._seqs.pop(place, None)
        if self._saved is not None:
            self._left.add(place)

    def erase_older(self) -> int:
        """Erase the vectors of earlier embedders, for every process.

        Returns:
            The number of erased records; their bytes are removed when the store is compacted. 0 if
            another process holds the store's lock; then the next call erases them.

        Raises:
            StoreError: They could not be erased.
        """
        current = self._generation()
        places = [(place, seq) for place, seq in self._all() if place[0] < current]
        twice = [one for one in list(self._twice) if one[0] < current]
        seqs = sorted({seq for _, seq in [*places, *twice] if not self._is_erased(seq)})
        try:
            if seqs:
                self._store.erase(records=seqs)
        except Locked:
            return 0
        for place, _ in places:
            self._forget(place)
        self._twice.difference_update(twice)
        return len(seqs)

    def _is_erased(self, seq: int) -> bool:
        try:
            self._store.hash_of(seq)
        except (Erased, NotFound):
            return True
        return False

    def _generation(self) -> int:
        identity = self._vectorizer.identity
        return 0 if identity is None else identity.generation
