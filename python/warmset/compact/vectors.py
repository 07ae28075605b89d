"""A cache of texts' vectors by the hash of the text, one cache for each embedder.

A text's vector is the normalised mean of its passages' vectors, so it covers the whole text. When a
text is added, its twins are found with the exact index once; a list of known texts is compared with
itself without a search.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import HotIndex, content_hash
from warmset._support.locks import guarded, rlock
from warmset.compact.passages import whole_texts
from warmset.compact.twins import Twins
from warmset.errors import EmbedderError
from warmset.options import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from warmset.embed import Embedder, Vectors

CAPACITY: Final = 32_768
"""The most texts in a cache: 48 MB at 384 dimensions. A longer list is cached until the next
call."""

_SERIAL: Final = count()
"""Serial numbers of texts in all caches of the process: slots are reused, numbers are not."""

_BATCH: Final = 256
_QUERIES: Final = 128


@guarded(
    "self._lock",
    fields=(
        "_digest",
        "_next",
        "_free",
        "_rows",
        "_used",
        "_serial",
        "_tick",
        "_index",
        "_twins",
        "_queries",
    ),
    calls=("_found", "_make", "_add", "_forget"),
)
class VectorCache:
    """The vector cache of one embedder.

    Args:
        embedder: Makes the vectors.

    Attributes:
        sayings: The facts of texts, if they were added, and the twins of texts, by their slots.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._lock = rlock("text_vectors")
        self._slot: dict[bytes, int] = {}
        self._digest: dict[int, bytes] = {}
        self._next = 0
        self._free: list[int] = []
        self._rows: Vectors = np.empty((0, 0), np.float32)
        self._used: NDArray[np.int64] = np.zeros(0, np.int64)
        self._serial: NDArray[np.int64] = np.zeros(0, np.int64)
        self._tick = 0
        self._index: HotIndex | None = None
        self._twins = Twins(self._digest)
        self.sayings = self._twins.sayings
        self._queries: dict[bytes, Vectors] = {}

    def __len__(self) -> int:
        return len(self._slot)

    def take(
        self,
        digests: Sequence[bytes],
        text: Callable[[int], str],
        stored: Callable[[list[int]], Mapping[int, Vectors]] | None = None,
    ) -> NDArray[np.int64]:
        """Return the slots of texts; missing vectors are looked up, or made in batches.

        Args:
            digests: The hash of each text; a blank text has none and gets -1.
            text: Returns the text at a position; called only for texts that must be embedded.
            stored: Returns the vectors, by position, that a store has of the texts at some
                positions.

        Raises:
            EmbedderError: The embedder failed; vectors of earlier batches stay cached.
        """
        with self._lock:
            self._tick += 1
            slots = self._found(digests)
            lacking = np.flatnonzero(slots < 0).tolist()
            missing = {digests[at]: at for at in lacking if digests[at]}
            if missing:
                there = {} if stored is None else stored(list(missing.values()))
                if there:
                    self._add([digests[at] for at in there], np.stack(list(there.values())))
                wanted = {one: text(at) for one, at in missing.items() if at not in there}
                self._make(wanted)
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

    def serials(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the serial numbers of texts, which are unique in this process."""
        with self._lock:
            serials: NDArray[np.int64] = self._serial[slots]
            return serials

    def cosines(self, query: str, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosine of each text with a query; 0 for slots without a text.

        Raises:
            EmbedderError: The embedder failed.
        """
        with self._lock:
            out = np.zeros(len(slots))
            if self._index is None or not len(self._index):
                return out
            asked = content_hash(query.encode("utf-8", "surrogatepass"))
            vector = self._queries.get(asked)
            if vector is None:
                vector = self.embedder.embed_query([query])[0]
                while len(self._queries) >= _QUERIES:
                    del self._queries[next(iter(self._queries))]
                self._queries[asked] = vector
            here = np.unique(slots[slots >= 0])
            few = 2 * len(here) < len(self._index)  # texts of other lists are skipped
            where = Filter(ids=here.tolist()) if few else None
            ids, scores = self._index.search(vector, len(self._index), where=where)
            table = np.zeros(self._next)
            table[ids] = scores
            there = slots >= 0
            out[there] = np.clip(table[slots[there]], -1.0, 1.0)
            return out

    def crowded(
        self, slots: NDArray[np.int64], same: float
    ) -> list[tuple[int, list[tuple[float, int]]]]:
        """Return the twins of a list's crowded texts, which are not in `sayings`.

        Args:
            slots: The slots of the list's texts.
            same: The least cosine.

        Returns:
            Slots, each with the cosines and slots of at most 32 other texts of the list, nearest
            first, ties by the texts' hashes.
        """
        with self._lock:
            if self._index is None:
                return []
            return self._twins.crowded(slots, same, self._rows, self._index)

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
            more = np.zeros(room - len(self._used), np.int64)
            self._used = np.concatenate([self._used, more])
            self._serial = np.concatenate([self._serial, more])
        self._rows[slots] = rows
        self._serial[slots] = [next(_SERIAL) for _ in slots]
        self._index.add(slots, rows)
        self._twins.meet(slots, rows, self._index)

    def _forget(self) -> None:
        """Remove the least recently used texts, down to three quarters; never those in use."""
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
            self._free.append(slot)
        self._twins.forget(gone)
