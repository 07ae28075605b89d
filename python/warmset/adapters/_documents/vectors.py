"""The index of the vectors of documents: in memory, exact, and as new as the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from warmset._core import HotIndex
from warmset._support.locks import guarded, lock
from warmset.errors import Corrupt, DimensionError, InvalidInputError, NoKey, Uncertain
from warmset.options import Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from warmset._core import Cell
    from warmset.store.log import Log

Metric: TypeAlias = Literal["cosine", "ip"]
"""How vectors are compared: by the angle between them, or by their inner product."""

METRICS: Final = ("cosine", "ip")

PAGE: Final = 2_000
"""Cells that are read at once."""

_DTYPES: Final[Mapping[str, np.dtype[np.float32] | np.dtype[np.float64]]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
}


_OF_A_CELL: Final = ("put", "patched", "removed")
"""Changes that are about the one cell that they name."""


def cells_of(log: Log, keys: Sequence[tuple[bytes, ...]]) -> Sequence[Cell | None]:
    """Return documents as of one moment; None for those that are gone or cannot be read.

    A damaged document is left out of searches, and raises when it is read by its id.
    """
    try:
        return log.view(cells=keys).cells
    except (Corrupt, NoKey, Uncertain):
        return [_whole(log, key) for key in keys]


def _whole(log: Log, key: tuple[bytes, ...]) -> Cell | None:
    try:
        return log.get(key)
    except (Corrupt, NoKey, Uncertain):
        return None


def packed(vector: Sequence[float] | NDArray[np.floating]) -> tuple[bytes, str]:
    """Return a vector's bytes and the name of their type: float32 where that loses nothing.

    Raises:
        InvalidInputError: It is no list of finite numbers.
    """
    try:
        wide = np.asarray(vector, dtype=_DTYPES["f8"])
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"a vector is no list of numbers: {error}") from error
    if wide.ndim != 1 or not wide.size:
        raise InvalidInputError(f"expected a vector, found an array of shape {wide.shape}")
    if not np.isfinite(wide).all():
        raise InvalidInputError("a vector has a number that is not finite")
    with np.errstate(over="ignore"):
        short = wide.astype(_DTYPES["f4"])
    if not np.isfinite(short).all():
        raise InvalidInputError("a vector has a number beyond those of float32")
    if (short == wide).all():
        return short.tobytes(), "f4"
    return wide.tobytes(), "f8"


def unpacked(cell: Cell) -> NDArray[np.floating] | None:
    """Return the vector beside a document; None if it has none."""
    if not cell.own:
        return None
    return np.frombuffer(cell.own, dtype=_DTYPES[(cell.codec or "f4")[-2:]])


@guarded(
    "self._lock",
    fields=("_position", "_keys", "_rows", "_zeros", "_sizes"),
    calls=("_clear", "_follow", "_changed", "_take", "_read", "_drop", "_with_zeros"),
)
class VectorIndex:
    """The vectors of the documents below a prefix.

    Every search first takes up what was written, removed or erased meanwhile, by whomever, so
    nothing that is gone is found. A row's id is the version of its cell. Safe to use from several
    threads.

    A vector of zeros has no direction: under "cosine" it scores 0 with every query, and a query of
    zeros scores 0 with every document.

    Args:
        log: The log.
        prefix: What the keys of the documents begin with.
        metric: How vectors are compared.

    Raises:
        InvalidInputError: The metric is not known.
    """

    def __init__(self, log: Log, prefix: tuple[bytes | str, ...], metric: Metric) -> None:
        if metric not in METRICS:
            raise InvalidInputError(f"metric: expected 'cosine' or 'ip', found {metric!r:.80}")
        self._log, self._prefix, self._metric = log, prefix, metric
        self._lock = lock("documents")
        self._position: bytes | None = None
        self._keys: dict[tuple[bytes, ...], int] = {}  # the version of each document with a vector
        self._rows: dict[int, tuple[tuple[bytes, ...], int]] = {}  # its key and dimension, by that
        self._zeros: dict[int, set[int]] = {}  # versions without a direction, by dimension
        self._sizes: dict[int, HotIndex] = {}  # by dimension

    def search(
        self,
        vector: Sequence[float] | NDArray[np.floating],
        k: int,
        among: Collection[int] | None = None,
    ) -> list[tuple[tuple[bytes, ...], int, float]]:
        """Return the documents whose vectors are nearest.

        Args:
            vector: The query, shape (dim,).
            k: The most documents.
            among: Only these versions; None for all.

        Returns:
            Key, version and score of each, best first, ties by version.

        Raises:
            DimensionError: All documents that have vectors have others.
            InvalidInputError: The vector is none, or not finite.
            StoreError: The log could not be read.
        """
        data, kind = packed(vector)
        query = np.frombuffer(data, dtype=_DTYPES[kind]).astype(_DTYPES["f4"])
        if k < 1 or (among is not None and not among):
            return []
        with self._lock:
            self._follow()
            if not self._rows:
                return []
            index = self._sizes.get(query.size)
            if index is None:
                raise DimensionError(next(iter(self._sizes)), query.size)
            where = None if among is None else Filter(ids=sorted(self._rows.keys() & set(among)))
            if self._metric == "cosine" and not query.any():
                found = [(id_, 0.0) for id_, (_, size) in self._rows.items() if size == query.size]
                chosen = [hit for hit in found if among is None or hit[0] in among]
                return [(self._rows[id_][0], id_, score) for id_, score in sorted(chosen)[:k]]
            ids, scores = index.search(query, k, where=where)
            hits = list(zip(ids.tolist(), scores.tolist(), strict=True))
            hits = self._with_zeros(hits, query.size, among)[:k]
            return [(self._rows[id_][0], id_, score) for id_, score in hits]

    def __len__(self) -> int:
        with self._lock:
            self._follow()
            return len(self._rows)

    def _with_zeros(
        self, hits: list[tuple[int, float]], size: int, among: Collection[int] | None
    ) -> list[tuple[int, float]]:
        """Add the documents that score 0 with everything to those that were found."""
        zeros = self._zeros.get(size)
        if not zeros:
            return hits
        mine = zeros if among is None else zeros & set(among)
        return sorted([*hits, *((id_, 0.0) for id_ in mine)], key=lambda hit: (-hit[1], hit[0]))

    def _follow(self) -> None:
        """Take up what happened since the last call."""
        while True:
            found = self._log.follow(self._position, prefix=self._prefix, limit=PAGE)
            if found is None:
                self._clear()
                continue
            if not found.changes:
                self._position = found.position
                return
            touched = {change.key for change in found.changes if change.what in _OF_A_CELL}
            if any(change.what not in _OF_A_CELL for change in found.changes):
                touched |= self._changed()
            self._read(list(touched))
            self._position = found.position

    def _changed(self) -> set[tuple[bytes, ...]]:
        """Return the keys of documents that are not as they were, by looking at all of them."""
        living = {one.key: one.version for one in self._log.scan(self._prefix, limit=None)}
        return {key for key, version in self._keys.items() if living.get(key) != version}

    def _read(self, keys: list[tuple[bytes, ...]]) -> None:
        """Take up these documents as they are now."""
        added: dict[int, list[tuple[int, NDArray[np.floating]]]] = {}
        for key, cell in zip(keys, cells_of(self._log, keys), strict=True):
            known = self._keys.get(key, 0)
            if cell is not None and cell.version == known:
                continue
            self._drop(known)
            vector = None if cell is None else unpacked(cell)
            if cell is not None and vector is not None:
                self._keys[key] = cell.version
                self._rows[cell.version] = (key, vector.size)
                added.setdefault(vector.size, []).append((cell.version, vector))
        for size, rows in added.items():
            self._take(size, rows)

    def _take(self, size: int, rows: list[tuple[int, NDArray[np.floating]]]) -> None:
        """Add vectors of one dimension; those of zeros have a place of their own."""
        if size not in self._sizes:
            self._sizes[size] = HotIndex(size, metric=self._metric)
        ids = np.array([id_ for id_, _ in rows], dtype=np.uint64)
        matrix = np.stack([vector for _, vector in rows]).astype(_DTYPES["f4"])
        kept = np.ones(len(rows), dtype=bool) if self._metric == "ip" else matrix.any(axis=1)
        self._sizes[size].add(ids[kept], matrix[kept])
        if not kept.all():
            self._zeros.setdefault(size, set()).update(ids[~kept].tolist())

    def _drop(self, id_: int) -> None:
        """Take a document out; one that is not here is none."""
        key, size = self._rows.pop(id_, (None, 0))
        if key is None:
            return
        del self._keys[key]
        if id_ in self._zeros.get(size, ()):
            self._zeros[size].remove(id_)
        else:
            self._sizes[size].remove([id_])

    def _clear(self) -> None:
        """Begin anew."""
        self._position = None
        self._keys, self._rows, self._zeros, self._sizes = {}, {}, {}, {}
