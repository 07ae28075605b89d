"""Reads a file of JSON lines that may grow: whole lines, each at most as long as a turn may be.

A last line without its end is taken if it is a whole JSON object, else it waits for its rest. What
was read of a file that another process writes is not read again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset.maintenance.transcripts.item import LONGEST, UNREADABLE, Item
from warmset.store.known import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warmset.maintenance.transcripts.report import ImportReport

_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file.

    Args:
        raw: Its bytes without the end of the line; empty if it is longer than a turn may be.
        value: The JSON value; None if it is none, or not in UTF-8.
        length: Its bytes, also of a line that is too long.
    """

    raw: bytes
    value: Any
    length: int

    @property
    def fields(self) -> dict[str, Any] | None:
        """The JSON object, if it is one."""
        return self.value if isinstance(self.value, dict) else None


def line_of(raw: bytes) -> Line:
    """Read a line."""
    return Line(raw, value_of(raw), len(raw))


def value_of(raw: bytes) -> Any:
    """Return the JSON value of bytes; None if they are none."""
    try:
        return json.loads(raw.decode("utf-8", "strict"))
    except (ValueError, RecursionError):
        return None


def beside(line: Line, conversation: str, report: ImportReport) -> Iterator[Item]:
    """Yield a line that is no JSON object, or count one that is too long to be kept."""
    if not line.raw:
        report.too_long += 1
        return
    uids = (digest(line.raw),)
    yield Item(conversation=conversation, uids=uids, kind=UNREADABLE, raw=line.raw)


class Parser(Protocol):
    """Makes items of the lines of one file, in their order."""

    def feed(self, line: Line) -> Iterator[Item]:
        """Take one line, and yield what is complete with it."""
        ...

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield what waits for lines that may still come.

        Args:
            ended: Whether nothing more is read; else what cannot be complete goes on waiting.
        """
        ...


class LineReading:
    """A file of JSON lines that is read with a parser.

    Args:
        path: The file.
        parser: What makes items of the lines; called anew if the file begins anew.
    """

    def __init__(self, path: Path, parser: Parser) -> None:
        self._path = path
        self._parser = parser
        self._place = 0
        self._skipping = 0  # bytes of a line that is too long, and whose end was not seen yet
        self.torn = False

    @property
    def done(self) -> int:
        """Bytes that were read so far."""
        return self._place

    def items(self) -> Iterator[Item]:
        """Yield the items of lines that came since the last call."""
        for line in self._lines():
            yield from self._parser.feed(line)

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield the items that wait for further lines."""
        yield from self._parser.rest(ended=ended)

    def _lines(self) -> Iterator[Line]:
        self.torn = False
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._place:  # it was written anew
                self._place = self._skipping = 0
            file.seek(self._place)
            while raw := file.readline(LONGEST + 1):
                ended = raw.endswith(b"\n")
                if self._skipping or (not ended and len(raw) > LONGEST):
                    self._skipping += len(raw)
                    self._place += len(raw)
                    if ended:
                        length, self._skipping = self._skipping, 0
                        yield Line(b"", None, length)
                    continue
                bare = raw.rstrip(b"\r\n")
                if not self._place:
                    bare = bare.removeprefix(_BOM)
                line = line_of(bare)
                if not ended and line.fields is None:
                    self.torn = bool(bare.strip())
                    return
                self._place += len(raw)
                if bare.strip():
                    yield line
            self.torn = bool(self._skipping)
