"""A cache of the nearest memories of texts, because the same texts come with every call.

It stores ids and cosines of a text, not the text. A new memory is compared with the cached texts
and merged; when a memory is erased, the texts that it was near to are searched again. So the result
always equals a search of all memories, and without a change nothing is searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from warmset.options import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from warmset._core import HotIndex
    from warmset.embed import Vectors

COVERS: Final = 3
"""The number of memories that are compared for each text."""

CAPACITY: Final = 32_768
"""The most cached texts of earlier calls; those of the current call are always cached."""

_NONE: Final = -1


class NearMemories:
    """A cache of the nearest memories of texts."""

    def __init__(self) -> None:
        self._entered: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self._texts = np.zeros(0, np.int64)
        self._seen = np.zeros(0, np.int64)
        self._ids = np.zeros((0, COVERS), np.int64)
        self._cosines = np.zeros((0, COVERS), np.float32)

    def enter(self, ids: Collection[int]) -> None:
        """Note the memories that were added to the index."""
        self._entered += ids

    def drop(self, ids: Collection[int]) -> None:
        """Note the memories that were removed from the index."""
        if len(self._texts) and ids:
            self._keep(np.flatnonzero(~np.isin(self._ids, list(ids)).any(axis=1)))

    def of(
        self,
        texts: NDArray[np.int64],
        rows: Callable[[NDArray[np.int64]], Vectors],
        index: HotIndex,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids and exact cosines of the nearest memories; id -1 if there are fewer.

        Args:
            texts: A number for each text, shape (n,).
            rows: Returns the vectors of the texts at some positions.
            index: The memories.

        Returns:
            Two arrays, shape (n, 3), nearest first, ties by id.
        """
        if len(self._entered) > 2 * len(index) + 1024:  # most entries were removed again
            self._entered.clear()
            self._clear()
        at = self._places(texts)
        behind = at < 0
        behind[~behind] = self._seen[at[~behind]] < len(self._entered)
        if behind.any():
            self._catch_up(texts, np.flatnonzero(behind), rows, index)
            at = self._places(texts)
        return self._ids[at], self._cosines[at]

    def _places(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(self._texts):
            return np.full(len(texts), _NONE)
        at = np.minimum(np.searchsorted(self._texts, texts), len(self._texts) - 1)
        return np.where(self._texts[at] == texts, at, _NONE)

    def _catch_up(
        self,
        texts: NDArray[np.int64],
        behind: NDArray[np.int64],
        rows: Callable[[NDArray[np.int64]], Vectors],
        index: HotIndex,
    ) -> None:
        """Search new texts, and compare cached ones with the memories added since."""
        fresh, first = np.unique(texts[behind], return_index=True)
        behind, at = behind[first], self._places(fresh)
        total = len(self._entered)
        seen = np.where(at < 0, _NONE, self._seen[at] if len(self._texts) else _NONE)
        ids = np.full((len(fresh), COVERS), _NONE)
        cosines = np.zeros((len(fresh), COVERS), np.float32)
        for since in np.unique(seen).tolist():
            mine = np.flatnonzero(seen == since)
            wanted = rows(behind[mine])
            if since < 0:
                ids[mine], cosines[mine] = _search(index, wanted, None)
                continue
            came = sorted({one for one in self._entered[since:] if one in index})
            ids[mine], cosines[mine] = self._ids[at[mine]], self._cosines[at[mine]]
            if came:
                found = _search(index, wanted, Filter(ids=came))
                ids[mine], cosines[mine] = _merged((ids[mine], cosines[mine]), found)
        if len(self._texts) + len(fresh) > CAPACITY:
            self._keep(np.flatnonzero(np.isin(self._texts, texts)))
        self._keep(np.flatnonzero(~np.isin(self._texts, fresh)))
        self._texts = np.concatenate([self._texts, fresh])
        self._seen = np.concatenate([self._seen, np.full(len(fresh), total)])
        self._ids = np.concatenate([self._ids, ids])
        self._cosines = np.concatenate([self._cosines, cosines])
        self._keep(np.argsort(self._texts))

    def _keep(self, places: NDArray[np.int64]) -> None:
        self._texts, self._seen = self._texts[places], self._seen[places]
        self._ids, self._cosines = self._ids[places], self._cosines[places]


_Found = tuple["NDArray[np.int64]", "NDArray[np.float32]"]


def _search(index: HotIndex, rows: Vectors, where: Filter | None) -> _Found:
    found, scores, counts = index.search_batch(rows, COVERS, where=where)
    width = found.shape[1]
    there = np.arange(width) < counts[:, np.newaxis]
    ids = np.full((len(rows), COVERS), _NONE)
    cosines = np.zeros((len(rows), COVERS), np.float32)
    ids[:, :width][there] = found.astype(np.int64)[there]
    cosines[:, :width][there] = scores[there]
    return ids, cosines


def _merged(one: _Found, other: _Found) -> _Found:
    """Merge two results to the nearest of both, ties by id."""
    ids = np.concatenate([one[0], other[0]], axis=1)
    cosines = np.concatenate([one[1], other[1]], axis=1)
    far = np.where(ids < 0, np.inf, -cosines)
    order = np.lexsort((ids, far), axis=1)[:, :COVERS]
    return np.take_along_axis(ids, order, 1), np.take_along_axis(cosines, order, 1)
