"""Lines of an export into a store: new ids, and what pointed to the old ones points to the new.

```text
read all lines, refuse what cannot be ─▶ batches, each all or nothing ─▶ old ids ─▶ new ids
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.records import CHECKPOINT, EMBEDDING
from warmset.upkeep.access import pages
from warmset.upkeep.lines import check_header, from_line, pointed, pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from warmset._core import ColdStore
    from warmset.records import Draft

_RECORDS: Final = 256
_BYTES: Final = 8 << 20
"""A batch has at most so many records, and about so many bytes."""


class Import:
    """One file on its way into a store; its figures say how far it came, whatever happened.

    Args:
        store: Where it goes.
        path: The file.

    Raises:
        InvalidInputError: The file cannot be read, a line of it is no record, or a conversation of
            it has records in the store already. Nothing was appended.
        StoreError: The store could not be read.
    """

    def __init__(self, store: ColdStore, path: Path) -> None:
        self.path = path
        self.total = 0
        self.done = 0
        self.vectors = 0
        self.loose = 0
        self._store = store
        self._ids: dict[int, int] = {}
        keys: set[tuple[bytes, ...]] = set()
        for _, (_, key, *_) in self._lines():
            self.total += 1
            keys.add(tuple(key))
        for record in pages(store):
            if record.key and record.key in keys:
                name = b" ".join(record.key).decode("utf-8", "replace")
                raise InvalidInputError(
                    f"{path}: {name!r} has records in the store already; erase them first, or "
                    "import into another store"
                )

    def run(self, told: Callable[[int, int], object] | None = None) -> None:
        """Append everything, in the file's order.

        Args:
            told: Is called with records appended and records in all.

        Raises:
            StoreError: A batch could not be appended; those before it were.
        """
        batch: list[tuple[int, Draft]] = []
        size = 0
        for id_, draft in self._lines():
            if draft[0] == EMBEDDING:
                self.vectors += 1
                continue
            waiting = {old for old, _ in batch}
            full = len(batch) == _RECORDS or size + len(draft[3]) > _BYTES
            if batch and (full or waiting & self._points_to(draft)):
                self._append(batch, told)
                batch, size = [], 0
            again = self._pointed(draft)
            if again is not None:
                batch.append((id_, again))
                size += len(draft[3])
        self._append(batch, told)

    def _append(
        self, batch: list[tuple[int, Draft]], told: Callable[[int, int], object] | None
    ) -> None:
        ids = self._store.append([draft for _, draft in batch])
        self._ids.update(zip((old for old, _ in batch), ids, strict=True))
        self.done += len(ids)
        if told is not None:
            told(self.done, self.total)

    def _points_to(self, draft: Draft) -> set[int]:
        found = pointer(draft)
        return {*draft[4], *([found[1]] if found else [])}

    def _pointed(self, draft: Draft) -> Draft | None:
        """Return a record with new ids; None if what it is about is not in the file."""
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

    def _lines(self) -> Iterator[tuple[int, Draft]]:
        at = 1
        try:
            with self.path.open(encoding="ascii") as file:
                check_header(file.readline())
                for at, line in enumerate(file, 2):  # noqa: B007 - the error names it
                    if line.strip():
                        yield from_line(line)
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.path}, line {at}: {error}") from error
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{self.path}: it is no export of warmset") from error
        except OSError as error:
            raise InvalidInputError(f"{self.path}: {error.strerror or error}") from error
