"""The documents of one collection: put, read, filtered, searched, removed and erased."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from warmset._core import space
from warmset.adapters._documents.columns import PARTIAL
from warmset.adapters._documents.opening import check_delete, open_log
from warmset.adapters._documents.vectors import VectorIndex, cells_of, packed, unpacked
from warmset.errors import Conflict, InvalidInputError
from warmset.store.conditions import Version
from warmset.store.rows import Put, Remove, RemoveBelow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import Cell, Outcome
    from warmset.adapters._documents.opening import Delete, Source
    from warmset.adapters._documents.vectors import Metric
    from warmset.store.log import Where
    from warmset.store.options import StoreKeywords
    from warmset.store.rows import Columns, IfPresent

SCOPE: Final = 3
"""Parts of a key that name whose a document is, for encryption: tenant, space, collection."""

_TRIES: Final = 4
_RETRIES: Final = 20

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A document as it is put.

    Args:
        id: Its name within the collection.
        payload: Its bytes.
        columns: What it is filtered by.
        vector: Its vector, shape (dim,); None for a document that no vector finds.
    """

    id: str
    payload: bytes
    columns: Columns
    vector: Sequence[float] | NDArray[np.floating] | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as it is stored.

    Args:
        cell: Its cell.
        score: Its score in a search.
    """

    cell: Cell
    score: float = 0.0

    @property
    def id(self) -> str:
        """Its name within the collection."""
        return self.cell.key[-1].decode()

    @property
    def payload(self) -> bytes:
        """Its bytes."""
        return self.cell.payload

    @property
    def vector(self) -> NDArray[np.floating] | None:
        """Its vector as it was put; None if it has none."""
        return unpacked(self.cell)


class Shelf:
    """The documents of one collection of a tenant.

    Every call sees what other handles and processes wrote before it. Safe to use from several
    threads.

    Args:
        source: Where the documents are; see `Source`.
        kind: The name of their space, one an adapter.
        collection: The collection's name.
        tenant: The tenant; that of the memory, or "default".
        metric: How vectors are compared.
        delete: What a deletion does; see `Delete`.
        options: Options of the store, if it is opened here.

    Raises:
        InvalidInputError: An argument cannot be used.
        StoreError: The store could not be opened.
    """

    def __init__(
        self,
        source: Source,
        *,
        kind: str,
        collection: str,
        tenant: str | None,
        metric: Metric,
        delete: Delete,
        options: StoreKeywords,
    ) -> None:
        check_delete(delete)
        for name, value in (("collection", collection), ("tenant", tenant)):
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidInputError(f"{name}: expected a name, found {value!r:.80}")
        self.log, self._opened, mine = open_log(source, options)
        self.collection, self.delete_by = collection, delete
        self.prefix = (tenant or mine or "default", space(kind), collection)
        try:
            self.vectors = VectorIndex(self.log, self.prefix, metric)
        except BaseException:
            self.close()
            raise

    def key(self, id_: str) -> tuple[str | bytes, ...]:
        """Return the key of a document."""
        if not isinstance(id_, str):
            raise InvalidInputError(f"an id: expected a text, found {id_!r:.80}")
        return (*self.prefix, id_)

    def put(
        self,
        documents: Iterable[Written],
        *,
        if_present: IfPresent = "replace",
        expect: Iterable[Stored] = (),
    ) -> list[Outcome]:
        """Put documents in one batch: all of them, or none.

        Args:
            documents: The documents; a later one of the same id counts.
            if_present: What happens if one of that id is there; see `Put`.
            expect: Documents that must be as they were found.

        Returns:
            What became of each.

        Raises:
            Conflict: One is there, with "fail", or is not as expected; nothing was put.
            InvalidInputError: A vector or an id cannot be stored; nothing was put.
            StoreError: They could not be stored; none was.
        """
        rows = []
        for one in documents:
            own, kind = (b"", "f4") if one.vector is None else packed(one.vector)
            rows.append(
                Put(
                    self.key(one.id),
                    one.payload,
                    codec=f"json {kind}",
                    columns=one.columns,
                    own=own,
                    if_present=if_present,
                )
            )
        return self.log.write(rows, expect=_as_found(expect), depth=SCOPE) if rows else []

    def get(self, ids: Iterable[str]) -> list[Stored]:
        """Return documents by their ids, those that are there, in that order.

        Raises:
            Corrupt: One is damaged.
            StoreError: They could not be read.
        """
        found = self.log.view(cells=[self.key(id_) for id_ in ids]).cells
        return [Stored(cell) for cell in found if cell is not None]

    def find(self, where: Where | None = None) -> list[Stored]:
        """Return the documents whose columns may fulfil a condition, in the order of their births.

        A document with metadata that is no column is always among them: the caller looks.

        Raises:
            InvalidInputError: The condition is malformed.
            StoreError: They could not be read.
        """
        listed = self.log.scan(self.prefix, where=perhaps(where), order="born", limit=None)
        found = self.log.view(cells=[one.key for one in listed]).cells
        return [Stored(cell) for cell in found if cell is not None]

    def versions(self, where: Where, check: Callable[[Stored], bool]) -> set[int]:
        """Return the versions of the documents that fulfil a condition.

        Args:
            where: A condition on columns.
            check: Tells of a document with metadata that is no column whether it fulfils it.

        Raises:
            InvalidInputError: The condition is malformed.
            StoreError: They could not be read.
        """
        listed = self.log.scan(self.prefix, where=perhaps(where), limit=None)
        unsure = [one.key for one in listed if PARTIAL in one.columns]
        sure = {one.version for one in listed if PARTIAL not in one.columns}
        read = [Stored(cell) for cell in cells_of(self.log, unsure) if cell is not None]
        return sure | {one.cell.version for one in read if check(one)}

    def count(self) -> int:
        """Return how many documents there are."""
        return self.log.count(self.prefix)

    def search(
        self,
        vector: Sequence[float] | NDArray[np.floating],
        k: int,
        *,
        among: set[int] | None = None,
    ) -> list[Stored]:
        """Return the documents whose vectors are nearest, best first.

        Args:
            vector: The query, shape (dim,).
            k: The most documents.
            among: Only documents of these versions; None for all.

        Raises:
            DimensionError: The documents have vectors of other dimensions.
            InvalidInputError: The vector cannot be used.
            StoreError: They could not be read.
        """
        found: list[Stored] = []
        for _ in range(_TRIES):
            hits = self.vectors.search(vector, k, among)
            cells = cells_of(self.log, [key for key, _, _ in hits])
            pairs = list(zip(hits, cells, strict=True))
            found = [
                Stored(cell, score)
                for (_, version, score), cell in pairs
                if cell is not None and cell.version == version
            ]
            if len(found) == len(hits):
                break  # else somebody changed one of them just now
        return found

    def delete(self, ids: Iterable[str]) -> None:
        """Remove or erase documents; those that are not there are none.

        Raises:
            Locked: Another writer kept the lock for too long; nothing was deleted.
            StoreError: They could not be deleted.
        """
        keys = [self.key(id_) for id_ in ids]
        if not keys:
            return
        if self.delete_by == "remove":
            self.log.write([Remove(key) for key in keys], depth=SCOPE)
            return
        versions = [version for key in keys if (version := self.log.version(key))]
        if versions:
            self.log.erase(ids=versions)
            self.log.compact()

    def delete_as_found(self, found: Sequence[Stored]) -> None:
        """Remove or erase documents as they were found; what was put since then stays.

        Raises:
            Locked: Another writer kept the lock for too long; not all were deleted.
            StoreError: They could not be deleted.
        """
        if self.delete_by == "erase":
            if found:
                self.log.erase(ids=[one.cell.version for one in found])
                self.log.compact()
            return
        left = list(found)
        while left:
            try:
                rows = [Remove(one.cell.key) for one in left]
                self.log.write(rows, expect=_as_found(left), depth=SCOPE)
            except Conflict:
                left = [one for one in left if self.log.version(one.cell.key) == one.cell.version]
            else:
                return

    def retried(self, change: Callable[[], R]) -> R:
        """Run a change that expects documents as it found them, again where somebody was first.

        Raises:
            Conflict: Somebody was first again and again.
        """
        for _ in range(_RETRIES):
            try:
                return change()
            except Conflict:
                continue
        return change()

    def clear(self) -> None:
        """Remove or erase all documents of the collection, and with "erase" their encryption key.

        Raises:
            Locked: Another writer kept the lock for too long; nothing was deleted.
            StoreError: They could not be deleted.
        """
        if self.delete_by == "remove":
            self.log.write([RemoveBelow(self.prefix)], depth=SCOPE)
            return
        self.log.erase(prefix=self.prefix)
        self.log.compact()

    def close(self) -> None:
        """Close the store if it was opened here."""
        if self._opened is not None:
            self._opened.close()


def _as_found(found: Iterable[Stored]) -> list[Version]:
    return [Version(one.cell.key, one.cell.version) for one in found]


def perhaps(where: Where | None) -> Mapping[str, Any] | None:
    """Return a condition that is true also of documents which have to be read to know."""
    return None if not where else {"or": [where, {PARTIAL: True}]}


def as_json(value: Any, id_: str) -> bytes:
    """Return the JSON of a document.

    Raises:
        InvalidInputError: It has something that JSON has no word for; the message names it.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"document {id_!r:.80}: its metadata must be plain JSON: {error}"
        ) from error


def new_id() -> str:
    """Return an id for a document that has none."""
    return str(uuid.uuid4())
