"""Imports an export into a store: records get new ids, and references are translated to them.

```text
read all lines, reject invalid files ─▶ batches, each all or nothing ─▶ old ids ─▶ new ids
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.maintenance.access import pages
from warmset.maintenance.lines import check_header, from_line, pointed, pointer
from warmset.maintenance.redacting import redacted_draft
from warmset.store.known import Known, digest, secret_of
from warmset.store.log import Log
from warmset.store.records import CHECKPOINT, ENTRY, HEAD, REMOVED, TURN, VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from warmset._core import ColdStore
    from warmset.engine import Redactor
    from warmset.store.records import Draft

_OF_LOG: Final = frozenset((ENTRY, HEAD, REMOVED, "cell", "patch"))
"""Kinds of records that only the log writes."""

_LEFT_OUT: Final = _OF_LOG | VECTORS.keys()
"""Kinds of records that are not imported."""

_RECORDS: Final = 256
_BYTES: Final = 8 << 20
"""The most records of a batch, and its approximate bytes."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The contents of a well-formed file.

    Args:
        path: The file.
        total: Its records.
        keys: Their keys.
    """

    path: Path
    total: int
    keys: frozenset[tuple[bytes, ...]]


def survey(path: Path) -> Survey:
    """Read and check a whole file before anything is imported.

    Raises:
        InvalidInputError: It cannot be read, or a line is not a record, repeats an id, or follows a
            message that is not before it.
    """
    ids: set[int] = set()
    keys: set[tuple[bytes, ...]] = set()
    for line in _lines(path):
        at, id_, draft = line.at, line.id, line.draft
        found = pointer(draft) if draft[0] == TURN else None
        if id_ in ids:
            raise InvalidInputError(f"{path}, line {at}: two records have the id {id_}")
        if found is not None and found[1] not in ids:
            raise InvalidInputError(
                f"{path}, line {at}: message {id_} follows message {found[1]}, which is not "
                "before it in the file; export the whole conversation"
            )
        ids.add(id_)
        keys.add(tuple(draft[1]))
    return Survey(path, len(ids), frozenset(keys))


class Import:
    """The import of one file; its counts are correct even after an error.

    Args:
        store: The store.
        found: The survey of the file.
        through: What every text passes through; None imports the texts as they are.
        once: Whether what is imported is remembered, and left out the next time: a conversation
            whose records were all imported before is left as it is, whether it is still there or
            was erased since.
        append: What appends records to the store, in place of the store itself.

    Raises:
        InvalidInputError: A conversation of the file already has other records in the store.
            Nothing was appended.
        StoreError: The store could not be read.
    """

    def __init__(
        self,
        store: ColdStore,
        found: Survey,
        through: Redactor | None = None,
        *,
        once: bool = False,
        append: Callable[[Sequence[Draft]], list[int]] | None = None,
    ) -> None:
        self.path = found.path
        self.redacted = 0
        self._through = through
        self.total = found.total
        self.done = 0
        self.vectors = 0
        self.loose = 0
        self.of_log = 0
        self.known = 0
        self._append_to = store.append if append is None else append
        self._log = Log(store)
        self._ids: dict[int, int] = {}
        self._lines: dict[tuple[bytes, ...], list[str]] = {}  # of what the batch has
        self._once = once
        there = {record.key for record in pages(store) if record.key in found.keys}
        self._keys = self._fresh_keys(there, found)

    def _fresh_keys(
        self, there: set[tuple[bytes, ...]], found: Survey
    ) -> dict[tuple[bytes, ...], Known]:
        """Return what is known of the keys that are imported.

        Raises:
            InvalidInputError: One has records in the store already, and others in the file.
        """
        secret = secret_of(self._log, make=False)
        known = {key: Known(self._log if self._once else None, key, secret) for key in found.keys}
        fresh: set[tuple[bytes, ...]] = set()
        for line in _lines(self.path):
            key = tuple(line.draft[1])
            if line.uid not in known[key] and line.draft[0] not in _LEFT_OUT:
                fresh.add(key)
        if not self._once:
            fresh = set(found.keys)
        for key in fresh & there:
            name = b" ".join(key).decode("utf-8", "replace")
            first = "" if known[key].had else "erase them first, or "
            raise InvalidInputError(
                f"{self.path}: {name!r} has records in the store already; {first}import into "
                "another store"
            )
        return {key: one for key, one in known.items() if key in fresh and not one.had}

    def run(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Append everything, in the file's order.

        Args:
            progress: Called with the number of records appended so far and the total number.

        Raises:
            RedactionError: The redaction hook failed; earlier batches were appended.
            StoreError: A batch could not be appended; those before it were.
        """
        secret = secret_of(self._log, make=self._once and bool(self._keys))
        self._keys = {key: Known(None, key, secret) for key in self._keys}
        batch: list[tuple[int, Draft]] = []
        size = 0
        for line in _lines(self.path):
            id_, draft = line.id, line.draft
            if draft[0] in VECTORS:
                self.vectors += 1
                continue
            if draft[0] in _OF_LOG:
                self.of_log += 1
                continue
            if tuple(draft[1]) not in self._keys:
                self.known += 1
                continue
            waiting = {old for old, _ in batch}
            full = len(batch) == _RECORDS or size + len(draft[3]) > _BYTES
            if batch and (full or waiting & self._points_to(draft)):
                self._append(batch, progress)
                batch, size = [], 0
            self._lines.setdefault(tuple(draft[1]), []).append(line.uid)
            pointed_draft = self._pointed(draft)
            again = None if pointed_draft is None else self._redacted(pointed_draft)
            if again is not None:
                batch.append((id_, again))
                size += len(again[3])
        self._append(batch, progress)

    def _append(
        self, batch: list[tuple[int, Draft]], progress: Callable[[int, int], object] | None
    ) -> None:
        if batch:
            ids = self._append_to([draft for _, draft in batch])
            self._ids.update(zip((old for old, _ in batch), ids, strict=True))
            self.done += len(ids)
        if self._lines and self._once:
            self._log.write([self._keys[key].row(uids) for key, uids in self._lines.items()])
        self._lines = {}
        if progress is not None:
            progress(self.done, self.total)

    def _redacted(self, draft: Draft) -> Draft | None:
        if self._through is None:
            return draft
        made = redacted_draft(draft, self._through)
        self.redacted += made is not draft
        return made

    def _points_to(self, draft: Draft) -> set[int]:
        found = pointer(draft)
        return {*draft[4], *([found[1]] if found else [])}

    def _pointed(self, draft: Draft) -> Draft | None:
        """Return a record with translated references; None if one is not in the file."""
        kind, key, meta, payload, sources = draft
        kept = tuple(self._ids[old] for old in sources if old in self._ids)
        self.loose += len(sources) - len(kept)
        draft = (kind, key, meta, payload, kept)
        found = pointer(draft)
        if found is None:
            return draft
        new = self._ids.get(found[1])
        if new is None:
            self.loose += 1
            if kind == CHECKPOINT:
                return None
        return pointed(draft, new)


@dataclass(frozen=True, slots=True)
class _Line:
    """A record of a file: the number of its line, its old id, and the id of the line."""

    at: int
    id: int
    draft: Draft
    uid: str


def _lines(path: Path) -> Iterator[_Line]:
    """Read a file's records."""
    at = 1
    try:
        with path.open(encoding="ascii") as file:
            check_header(file.readline())
            for at, line in enumerate(file, 2):
                if line.strip():
                    id_, draft = from_line(line)
                    yield _Line(at, id_, draft, digest(line.strip().encode()))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, line {at}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: it is not an export of warmset") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error
