"""The vectors of a store's items, searched in memory and kept up to date by following the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from warmset._support.forks import Lock
from warmset.adapters.place import PAGE
from warmset.errors import InvalidInputError
from warmset.native import HotIndex
from warmset.options import Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from warmset._core import Cell, Change
    from warmset.adapters.place import Place

METRICS: Final[dict[str, Literal["cosine", "ip"]]] = {"cosine": "cosine", "inner_product": "ip"}
"""The metric of the index by LangGraph's word for the distance."""


def packed(vectors: Any, count: int, dims: int) -> NDArray[np.float32]:
    """Return what an embedder made as an array.

    Args:
        vectors: What it returned.
        count: How many texts it was given.
        dims: The dimensions that were promised.

    Raises:
        InvalidInputError: It is no such array.
    """
    found = np.asarray(vectors, dtype=np.float32)
    if found.shape != (count, dims) or not np.isfinite(found).all():
        why = f"embed: expected {count} finite vectors of {dims} dimensions, found {found.shape}"
        raise InvalidInputError(why)
    return found


class Vectors:
    """Searches the vectors beside items; several of one item count as the best of them.

    A vector of length zero is as near to everything as a right angle is: its score is 0.

    Args:
        place: Where the items lie.
        dims: The dimensions of a vector.
        distance: "cosine" or "inner_product".

    Raises:
        InvalidInputError: There is no such distance.
    """

    def __init__(self, place: Place, dims: int, distance: str) -> None:
        if distance not in METRICS:
            known = " or ".join(map(repr, METRICS))
            raise InvalidInputError(f"distance_type: expected {known}, found {distance!r}")
        self._place = place
        self._dims = dims
        self._metric: Literal["cosine", "ip"] = METRICS[distance]
        self._lock = Lock()
        self._clear()

    def _clear(self) -> None:
        self._index = HotIndex(self._dims, metric=self._metric)
        self._position: bytes | None = None
        self._held: dict[tuple[bytes, ...], tuple[int, list[int]]] = {}
        self._keys: dict[int, tuple[bytes, ...]] = {}
        self._zeros: set[int] = set()
        self._next = 1

    def search(
        self, query: NDArray[np.float32], count: int, among: Collection[tuple[bytes, ...]] | None
    ) -> list[tuple[float, tuple[bytes, ...]]]:
        """Return the nearest items as the log has them now.

        Args:
            query: The vector, shape (dims,).
            count: The most items.
            among: The keys of those that are asked for; None for all.

        Returns:
            Scores and keys, best first; fewer than `count` only if there are no more.
        """
        with self._lock:
            self._follow()
            held = self._held if among is None else [key for key in among if key in self._held]
            several = [self._held[key][1] for key in held]
            most = max(map(len, several), default=1)
            zeros = [row for rows in several for row in rows if row in self._zeros]
            if not query.any():
                return [(0.0, key) for key in held][:count]
            ids = None if among is None else [row for rows in several for row in rows]
            where = None if ids is None else Filter(ids=ids)
            rows, scores = self._index.search(query, max(1, count * most), where=where)
            ranked = [*zip(scores.tolist(), rows.tolist(), strict=True)]
            ranked += [(0.0, row) for row in zeros]
            ranked.sort(key=lambda one: (-one[0], one[1]))
            best: dict[tuple[bytes, ...], float] = {}
            for score, row in ranked:
                best.setdefault(self._keys[row], score)
            return [(score, key) for key, score in best.items()][:count]

    def _follow(self) -> None:
        prefix = self._place.key()
        while True:
            found = self._place.log.follow(self._position, prefix=prefix)
            if found is None:
                self._clear()
                continue
            puts: list[tuple[bytes, ...]] = []
            for change in found.changes:
                if change.what == "put":
                    puts.append(change.key)
                elif change.what not in ("patched", "added", "head"):
                    self._take(puts)
                    puts = []
                    self._forget(change)
            self._take(puts)
            self._position = found.position
            if not found.changes:
                return

    def _take(self, keys: Iterable[tuple[bytes, ...]]) -> None:
        wanted = [*dict.fromkeys(keys)]
        for at in range(0, len(wanted), PAGE):
            page = wanted[at : at + PAGE]
            cells = self._place.log.view(cells=page, now=0).cells
            for key, cell in zip(page, cells, strict=True):
                self._drop(key)
                if cell is not None and cell.own:
                    self._add(cell)

    def _add(self, cell: Cell) -> None:
        dims = cell.columns["dims"]
        if dims != self._dims:
            why = f"index: the store's vectors have {dims} dimensions, the embedder {self._dims}"
            raise InvalidInputError(f"{why}; open it with the embedder that made them")
        vectors = np.frombuffer(cell.own, dtype="<f4").reshape(-1, self._dims)
        ids = [*range(self._next, self._next + len(vectors))]
        self._next += len(ids)
        self._held[cell.key] = (cell.version, ids)
        self._keys.update(dict.fromkeys(ids, cell.key))
        full: NDArray[np.bool_] = np.asarray(vectors.any(axis=1))
        self._zeros.update(row for row, is_full in zip(ids, full, strict=True) if not is_full)
        if full.any():
            self._index.add(np.asarray(ids)[full], vectors[full])

    def _forget(self, change: Change) -> None:
        asked = [change.key] if change.what == "removed" and not change.derived else [*self._held]
        for key in asked:
            held = self._held.get(key)
            if held is not None and change.covers(held[0], key):
                self._drop(key)

    def _drop(self, key: tuple[bytes, ...]) -> None:
        _, ids = self._held.pop(key, (0, []))
        rows = [row for row in ids if row not in self._zeros]
        if rows:
            self._index.remove(rows)
        self._zeros.difference_update(ids)
        for row in ids:
            del self._keys[row]
