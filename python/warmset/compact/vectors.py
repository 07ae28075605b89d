"""Vectors of texts, made once and kept by the hash of what was embedded, one book an embedder.

A text's vector is the mean of its passages' vectors, of length one, so it is of the whole text.
When a text comes in, the texts that say the same are looked up with the exact index: from then on
they are known, and a list of known texts is compared with itself without a search.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import HotIndex
from warmset.compact.passages import whole_texts
from warmset.compact.weights import TWIN_FLOOR
from warmset.config import Filter
from warmset.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from warmset.embed import Embedder, Vectors

CAPACITY: Final = 32_768
"""Texts that a book keeps: 48 MB at 384 dimensions. A longer list is kept until the next call."""

NEAREST: Final = 32
"""Of the texts in a list that say the same as one of them, the nearest that many count."""

_BATCH: Final = 256
_QUERIES: Final = 128


class VectorCache:
    """The vectors of one embedder.

    Args:
        embedder: What makes them.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._lock = threading.RLock()
        self._slot: dict[bytes, int] = {}
        self._digest: dict[int, bytes] = {}
        self._next = 0
        self._free: list[int] = []
        self._rows: Vectors = np.empty((0, 0), np.float32)
        self._used: NDArray[np.int64] = np.zeros(0, np.int64)
        self._tick = 0
        self._index: HotIndex | None = None
        self._twins: dict[int, dict[int, float]] = {}
        self._ranked: dict[int, list[tuple[float, int]]] = {}
        self._crowded: set[int] = set()
        self._queries: dict[str, Vectors] = {}

    def __len__(self) -> int:
        return len(self._slot)

    def take(self, digests: Sequence[bytes], text: Callable[[int], str]) -> NDArray[np.int64]:
        """Return where the vectors of texts are; those that are not there are made, in batches.

        Args:
            digests: The hash of each text; a blank text has none and gets -1.
            text: Returns the text at a place; asked only for those that are to be embedded.

        Raises:
            EmbedderError: The embedder failed; what was made before is kept.
        """
        with self._lock:
            self._tick += 1
            slots = self._found(digests)
            lacking = np.flatnonzero(slots < 0).tolist()
            missing = {digests[at]: text(at) for at in lacking if digests[at]}
            if missing:
                self._make(missing)
                slots = self._found(digests)
            self._used[slots[slots >= 0]] = self._tick
            self._forget()
            return slots

    def _found(self, digests: Sequence[bytes]) -> NDArray[np.int64]:
        slot = self._slot
        return np.fromiter([slot.get(one, -1) for one in digests], np.int64, len(digests))

    def rows(self, slots: NDArray[np.int64]) -> Vectors:
        """Return vectors, shape (n, dim)."""
        with self._lock:
            rows: Vectors = self._rows[slots]
            return rows

    def cosines(self, query: str, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosine of each text with a query; 0 where there is no text.

        Raises:
            EmbedderError: The embedder failed.
        """
        with self._lock:
            out = np.zeros(len(slots))
            if self._index is None or not len(self._index):
                return out
            vector = self._queries.get(query)
            if vector is None:
                vector = self.embedder.embed_query([query])[0]
                while len(self._queries) >= _QUERIES:
                    del self._queries[next(iter(self._queries))]
                self._queries[query] = vector
            ids, scores = self._index.search(vector, len(self._index))
            table = np.zeros(self._next)
            table[ids] = scores
            there = slots >= 0
            out[there] = np.clip(table[slots[there]], -1.0, 1.0)
            return out

    def twins(self, slots: NDArray[np.int64], same: float) -> dict[int, list[tuple[float, int]]]:
        """Return for each text of a list those in it that say the same, nearest first.

        Args:
            slots: Where the list's texts are.
            same: The least cosine.

        Returns:
            Cosines and slots, at most `NEAREST` of other texts, ties by what they say; a text has
            itself with a cosine of 1. Texts without any other are left out.
        """
        with self._lock:
            here = set(slots.tolist()) - {-1}
            found: dict[int, list[tuple[float, int]]] = {}
            for one in here & self._twins.keys():
                near = [pair for pair in self._ranking(one) if pair[1] in here and pair[0] >= same]
                if near:
                    found[one] = [(1.0, one), *near]
            return found | self._around(sorted(here & self._crowded), here, same)

    def _ranking(self, slot: int) -> list[tuple[float, int]]:
        """Return the cosines and slots of a text's twins, nearest first."""
        known = self._ranked.get(slot)
        if known is None:
            near = [(-cosine, self._digest[at], at) for at, cosine in self._twins[slot].items()]
            known = self._ranked[slot] = [(-less, at) for less, _, at in sorted(near)]
        return known

    def _around(
        self, crowded: list[int], here: set[int], same: float
    ) -> dict[int, list[tuple[float, int]]]:
        """Search a list's texts for the nearest of those that have too many twins to be kept."""
        if not crowded or self._index is None:
            return {}
        where = Filter(ids=sorted(here)) if len(here) < len(self._index) else None
        rows = self._rows[crowded]
        found = self._index.search_batch(rows, NEAREST + 1, where=where)
        out: dict[int, list[tuple[float, int]]] = {}
        for slot, ids, scores, count in zip(
            crowded, *(part.tolist() for part in found), strict=True
        ):
            near = [
                (-min(score, 1.0), self._digest[at], at)
                for at, score in zip(ids[:count], scores[:count], strict=True)
                if at != slot and score >= same
            ]
            if near:
                ranked = sorted(near)[:NEAREST]
                out[slot] = [(1.0, slot), *((-less, at) for less, _, at in ranked)]
        return out

    def _make(self, wanted: dict[bytes, str]) -> None:
        fresh = list(wanted.items())
        for start in range(0, len(fresh), _BATCH):
            batch = fresh[start : start + _BATCH]
            rows = whole_texts(self.embedder, [text for _, text in batch])
            self._add([digest for digest, _ in batch], rows)

    def _add(self, digests: Sequence[bytes], rows: Vectors) -> None:
        if self._index is None:
            self._index = HotIndex(rows.shape[1])
            self._rows = np.empty((0, rows.shape[1]), np.float32)
        elif rows.shape[1] != self._rows.shape[1]:
            raise EmbedderError(
                f"{self.embedder.name}: its vectors had {self._rows.shape[1]} dimensions before, "
                f"now {rows.shape[1]}; give another embedder"
            )
        slots: list[int] = []
        for digest in digests:
            if self._free:
                slot = self._free.pop()
            else:
                slot, self._next = self._next, self._next + 1
            slots.append(slot)
            self._slot[digest] = slot
            self._digest[slot] = digest
        if self._next > len(self._rows):
            room = max(self._next, 2 * len(self._rows), 1024)
            grown = np.zeros((room, rows.shape[1]), np.float32)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
            self._used = np.concatenate([self._used, np.zeros(room - len(self._used), np.int64)])
        self._rows[slots] = rows
        self._index.add(slots, rows)
        self._meet(slots, rows)

    def _meet(self, slots: list[int], rows: Vectors) -> None:
        """Find the texts that new ones say the same as."""
        assert self._index is not None  # noqa: S101 - the rows are in it
        ids, scores, counts = self._index.search_batch(rows, NEAREST + 2)
        for at, slot in enumerate(slots):
            near = scores[at, : counts[at]] >= TWIN_FLOOR
            if near.sum() <= 1:
                continue
            hits, cosines = ids[at, : counts[at]][near], scores[at, : counts[at]][near]
            if len(hits) > NEAREST + 1:
                hits, cosines = self._index.search(rows[at], len(self._index))
                hits = hits[cosines >= TWIN_FLOOR]
            for other, cosine in zip(hits.tolist(), cosines.tolist(), strict=False):
                if other != slot:
                    self._pair(slot, other, min(cosine, 1.0))
                    self._pair(other, slot, min(cosine, 1.0))

    def _pair(self, one: int, other: int, cosine: float) -> None:
        if one in self._crowded:
            return
        near = self._twins.setdefault(one, {})
        near[other] = cosine
        self._ranked.pop(one, None)
        if len(near) > NEAREST:
            del self._twins[one]
            self._crowded.add(one)

    def _forget(self) -> None:
        """Drop what was not used for longest, down to three quarters; never what is in use."""
        if len(self._slot) <= CAPACITY or self._index is None:
            return
        held = np.fromiter(self._digest, np.int64, len(self._digest))
        idle = held[self._used[held] < self._tick]
        order = idle[np.lexsort((idle, self._used[idle]))]
        gone = order[: len(self._slot) - 3 * CAPACITY // 4].tolist()
        if gone:
            self._index.remove(gone)
        for slot in gone:
            del self._slot[self._digest.pop(slot)]
            self._ranked.pop(slot, None)
            for other in self._twins.pop(slot, {}):
                self._twins.get(other, {}).pop(slot, None)
                self._ranked.pop(other, None)
            self._crowded.discard(slot)
            self._free.append(slot)
