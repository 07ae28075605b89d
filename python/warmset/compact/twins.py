"""Twins: the texts of a cache with the same content, found when a text is added.

A text with very many twins is crowded: its twins are searched in each list that contains it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._core import Sayings
from warmset.compact.weights import TWIN_FLOOR
from warmset.options import Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import HotIndex
    from warmset.embed import Vectors

NEAREST: Final = 32
"""The number of nearest twins in a list that count for a crowded text."""


class Twins:
    """The twins of a cache's texts, by their slots.

    Args:
        digests: The hash of each slot's text; ties are ordered by it.

    Attributes:
        sayings: The twins of texts that are not crowded, nearest first; also the facts of texts, if
            they were added.
    """

    def __init__(self, digests: Mapping[int, bytes]) -> None:
        self.sayings = Sayings()
        self._digest = digests
        self._twins: dict[int, dict[int, float]] = {}
        self._crowded: set[int] = set()

    def crowded(
        self, slots: NDArray[np.int64], same: float, rows: Vectors, index: HotIndex
    ) -> list[tuple[int, list[tuple[float, int]]]]:
        """Return the twins of crowded texts in a list; see `VectorCache.crowded`.

        Args:
            slots: The slots of the list; -1 means none.
            same: The least cosine.
            rows: The vectors of all slots.
            index: The same vectors, as an index.
        """
        if not self._crowded:
            return []
        here = set(slots.tolist()) - {-1}
        asked = sorted(here & self._crowded)
        if not asked:
            return []
        where = Filter(ids=sorted(here)) if len(here) < len(index) else None
        found = index.search_batch(rows[asked], NEAREST + 1, where=where)
        out: list[tuple[int, list[tuple[float, int]]]] = []
        each = zip(asked, *(part.tolist() for part in found), strict=True)
        for slot, ids, scores, count in each:
            near = {
                at: min(score, 1.0)
                for at, score in zip(ids[:count], scores[:count], strict=True)
                if at != slot and score >= same
            }
            out.append((slot, self._ranked(near)[:NEAREST]))
        return out

    def meet(self, slots: list[int], rows: Vectors, index: HotIndex) -> None:
        """Find the twins of new texts.

        Args:
            slots: The slots of the new texts.
            rows: Their vectors.
            index: All texts, the new ones included.
        """
        ids, scores, counts = index.search_batch(rows, NEAREST + 2)
        changed: set[int] = set()
        for at, slot in enumerate(slots):
            near = scores[at, : counts[at]] >= TWIN_FLOOR
            if near.sum() <= 1:
                continue
            hits, cosines = ids[at, : counts[at]][near], scores[at, : counts[at]][near]
            if len(hits) > NEAREST + 1:
                hits, cosines = index.search(rows[at], len(index))
                hits = hits[cosines >= TWIN_FLOOR]
            for other, cosine in zip(hits.tolist(), cosines.tolist(), strict=False):
                if other != slot:
                    self._pair(slot, other, min(cosine, 1.0))
                    self._pair(other, slot, min(cosine, 1.0))
                    changed |= {slot, other}
        self._tell(changed)

    def forget(self, gone: Collection[int]) -> None:
        """Remove texts: their slots will be reused."""
        dropped, changed = set(gone), set[int]()
        # A crowded text has no list of its twins.
        knows = self._twins if self._crowded & dropped else {}
        for slot in dropped:
            changed |= self._twins.pop(slot, {}).keys()
        changed |= {slot for slot, twins in knows.items() if not dropped.isdisjoint(twins)}
        self._crowded -= dropped
        changed -= dropped
        for slot in changed & self._twins.keys():
            self._twins[slot] = {at: c for at, c in self._twins[slot].items() if at not in dropped}
        self.sayings.forget(list(dropped))
        self._tell(changed)

    def _pair(self, one: int, other: int, cosine: float) -> None:
        if one in self._crowded:
            return
        near = self._twins.setdefault(one, {})
        near[other] = cosine
        if len(near) > NEAREST:
            del self._twins[one]
            self._crowded.add(one)

    def _tell(self, changed: Iterable[int]) -> None:
        for slot in changed:
            self.sayings.relate(slot, self._ranked(self._twins.get(slot, {})))

    def _ranked(self, near: Mapping[int, float]) -> list[tuple[float, int]]:
        """Return cosines and slots, nearest first, ties by the texts' hashes."""
        order = sorted((-cosine, self._digest[at], at) for at, cosine in near.items())
        return [(-less, at) for less, _, at in order]
