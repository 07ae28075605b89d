"""Imports files of other programs into a store: the way of an item, from a file to its record.

```text
files ─▶ sniffed ─▶ read, item by item ─▶ Writer: what is new, in batches ─▶ store
```
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.maintenance.imports import Import, survey
from warmset.maintenance.transcripts.files import Found, find
from warmset.maintenance.transcripts.report import ImportReport
from warmset.maintenance.transcripts.sources import SOURCES, Source, reading, size_of, sniff
from warmset.maintenance.transcripts.writer import Writer

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from warmset.engine import Redactor
    from warmset.maintenance.transcripts.item import Item, Reading
    from warmset.maintenance.transcripts.target import Target

POLL: Final = 0.5
"""Seconds between two looks at files that are followed."""

_QUIET: Final = 6
"""Looks without a new line after which a reply counts as complete."""

_STEP: Final = 256
"""Items between two calls of `progress`."""


@dataclass(slots=True)
class _Open:
    """A file that is read; an export of warmset is read whole, and at once."""

    found: Found
    reading: Reading | None
    quiet: int = 0


def check(sources: Sequence[Path], kind: Source | None, within: Path | None = None) -> None:
    """Check the files that are named, before anything is written.

    Args:
        sources: Files, and directories with files.
        kind: Where the files come from; None if that is to be found out.
        within: The directory outside of which no file is read; None for anywhere.

    Raises:
        InvalidInputError: One is not there, of no known source, or no whole export of warmset.
    """
    if kind is not None and kind not in SOURCES:
        raise InvalidInputError(f"source: expected one of {', '.join(SOURCES)}, found {kind!r}")
    for found in find(sources, within):
        if found.named and _kind(found, kind) == "warmset":
            survey(found.path)


def _kind(found: Found, kind: Source | None) -> Source | None:
    """Return where a file comes from; None for one of a directory that no source knows.

    Raises:
        InvalidInputError: It was named, and no source knows it; or it cannot be read.
    """
    known = kind or sniff(found.path)
    if known is None and found.named:
        raise InvalidInputError(
            f"{found.path}: it is of no known source ({', '.join(SOURCES)}); name its source, if "
            "it is one of them"
        )
    return known


def _tell(
    progress: Callable[[int, int], object] | None, before: int, size: int, total: int, share: float
) -> None:
    """Tell what was read when a share of one file was, behind those before it."""
    if progress is not None:
        progress(before + int(share * size), total)


class Importing:
    """One import of several files.

    Args:
        target: The store.
        sources: Files, and directories with files.
        tenant: Whose the conversations are.
        kind: Where the files come from; None if that is to be found out.
        name: The conversation of what names none; None for the file's name.
        through: What every text passes through; None stores the texts as they are.
        dry: Whether nothing is stored.
        within: The directory outside of which no file is read; None for anywhere.
        own_tenant: Whether exports with records of other tenants are refused.
    """

    def __init__(
        self,
        target: Target,
        sources: Sequence[str | PathLike[str]],
        *,
        tenant: str,
        kind: Source | None = None,
        name: str | None = None,
        through: Redactor | None = None,
        dry: bool = False,
        within: Path | None = None,
        own_tenant: bool = False,
    ) -> None:
        self._within = within
        self._only = tenant.encode("utf-8", "surrogatepass") if own_tenant else None
        self._given = [Path(one) for one in sources]
        self._kind: Source | None = kind
        self._name = name
        self.report = ImportReport(dry=dry)
        self._target = target
        self._through = through
        self._writer = Writer(target, tenant, through, self.report)
        self._files: dict[Path, _Open | None] = {}

    def run(self, progress: Callable[[int, int], object] | None = None) -> ImportReport:
        """Read all files to their ends.

        Args:
            progress: Called with the bytes read so far and those of all files.

        Returns:
            What was done.

        Raises:
            InvalidInputError: A file that was named is of no known source, or cannot be read.
            RedactionError: The redaction hook failed; earlier batches were stored.
            StoreError: A batch could not be stored; those before it were.
        """
        listed = list(find(self._given, self._within))
        total = sum(size_of(one.path) for one in listed)
        before = 0
        try:
            for found in listed:
                told = partial(_tell, progress, before, size_of(found.path), total)
                one = self._opened(found, told)
                if one is not None:
                    self._read(one, progress, before, total)
                    self._end(one)
                before += size_of(found.path)
                if progress is not None:
                    progress(before, total)
        except InvalidInputError:  # of a file; what came before it stands
            self._writer.flush()
            raise
        self._writer.flush()
        return self.report

    def follow(
        self,
        stop: threading.Event,
        progress: Callable[[ImportReport], object] | None = None,
    ) -> ImportReport:
        """Read all files, and what is written to them and below the directories until told to stop.

        Args:
            stop: Ends it.
            progress: Called after each look that brought something.

        Returns:
            What was done.

        Raises:
            InvalidInputError: A file that was named is of no known source, or cannot be read.
            StoreError: A batch could not be stored; those before it were.
        """
        try:
            while True:
                before = self.report.new
                for found in find(self._given, self._within):
                    one = self._opened(found)
                    if one is not None:
                        self._look(one)
                self._writer.flush()
                if progress is not None and self.report.new != before:
                    progress(self.report)
                if stop.wait(POLL):
                    break
        finally:
            for one in self._files.values():
                if one is not None:
                    self._end(one)
            self._writer.flush()
        return self.report

    def _opened(self, found: Found, told: Callable[[float], object] = bool) -> _Open | None:
        """Return a file with what reads it; None if no source knows it.

        Args:
            found: The file.
            told: Called with the share of an export of warmset that was read.
        """
        if found.path not in self._files:
            kind: Source | None = None
            reads: Reading | None = None
            with self._named(found):
                kind = _kind(found, self._kind)
                reads = None if kind is None else self._reading(found, kind, told)
            if kind is None:
                if size_of(found.path) == 0:
                    return None  # it may be known once it has a line
                self.report.skipped += str(found.path) not in self.report.failed
                self._files[found.path] = None
            else:
                self.report.files[kind] += 1
                self._files[found.path] = _Open(found, reads)
        return self._files[found.path]

    def _reading(
        self, found: Found, kind: Source, told: Callable[[float], object]
    ) -> Reading | None:
        if kind == "warmset":
            with self._named(found):
                self._import_export(found.path, told)
            return None
        return reading(found.path, kind, self._name or found.name, self.report)

    def _import_export(self, path: Path, told: Callable[[float], object]) -> None:
        """Import what `export` wrote."""
        there, report = survey(path), self.report
        if self._only is not None and any(key[:1] != (self._only,) for key in there.keys):
            raise InvalidInputError(
                f"{path}: it has records of other tenants; export one tenant with warmset export "
                "--tenant"
            )
        store = self._target.store
        if report.dry or store is None:
            report.records += there.total
            return
        self._writer.flush()
        work = Import(store, there, self._through, once=True, append=self._target.append)
        try:
            work.run(lambda done, total: told(done / max(total, 1)))
        finally:
            report.records += work.done
            report.known += work.known
            report.left_out["vectors"] += work.vectors
            report.left_out["log"] += work.of_log
            report.left_out["references"] += work.loose
            report.redacted += work.redacted

    def _read(
        self,
        one: _Open,
        progress: Callable[[int, int], object] | None = None,
        before: int = 0,
        total: int = 0,
    ) -> int:
        """Take what has come of a file, and return how many items that was."""
        count = 0
        for item in self._items(one):
            self._writer.take(item)
            count += 1
            if progress is not None and count % _STEP == 0 and one.reading is not None:
                progress(before + one.reading.done, max(total, before + one.reading.done))
        return count

    def _items(self, one: _Open) -> Iterator[Item]:
        with self._named(one.found):  # what goes wrong with the store is not the file's fault
            yield from () if one.reading is None else one.reading.items()

    def _look(self, one: _Open) -> None:
        one.quiet = 0 if self._read(one) else one.quiet + 1
        if one.quiet == _QUIET and one.reading is not None:
            for item in one.reading.rest(ended=False):
                self._writer.take(item)

    def _end(self, one: _Open) -> None:
        if one.reading is not None:
            for item in one.reading.rest(ended=True):
                self._writer.take(item)
            self.report.torn += one.reading.torn

    @contextmanager
    def _named(self, found: Found) -> Iterator[None]:
        """Let a file that was named fail the import, and count one that was found."""
        try:
            yield
        except (InvalidInputError, OSError) as error:
            why = (
                str(error) if isinstance(error, InvalidInputError) else error.strerror or str(error)
            )
            why = why.removeprefix(f"{found.path}: ")
            if found.named:
                raise InvalidInputError(f"{found.path}: {why}") from error
            self.report.failed[str(found.path)] = why
