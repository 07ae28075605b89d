"""What a window shows of turns, made once and kept: quotes and lines, each with its tokens."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._core import count_text
from warmset.quoting import day_line, index_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warmset.ledger import Entry

ROOM: Final = 16_000_000
"""Characters that are kept at most; what was not asked for the longest leaves first."""


class Line(NamedTuple):
    """Text for a window.

    Args:
        text: The text.
        tokens: What it costs.
    """

    text: str
    tokens: int


class Cards:
    """Quotes and index lines of one store's messages.

    Args:
        read: Returns what a message says.
        encoding: The vocabulary.
    """

    def __init__(self, read: Callable[[int], str], encoding: str) -> None:
        self._read = read
        self._encoding = encoding
        self._kept: OrderedDict[tuple[str, int | str], Line] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def plain(self, text: str) -> Line:
        """Return a text that stands in many windows."""
        return self._made(("plain", text), lambda: text)

    def quote(self, entry: Entry) -> Line:
        """Return a message as it is quoted."""
        return self._made(("quote", entry.id), lambda: quote(entry, self._read(entry.id)))

    def line(self, entry: Entry) -> Line:
        """Return a message's line in the index."""
        return self._made(("line", entry.id), lambda: index_line(entry, self._read(entry.id)))

    def quotes(self, entries: Iterable[Entry]) -> list[Line]:
        """Quote messages in order, with a line for the day wherever it changes."""
        out: list[Line] = []
        last = ""
        for entry in entries:
            day = day_line(entry)
            if day != last:
                out.append(self.plain(day))
                last = day
            out.append(self.quote(entry))
        return out

    def clear(self) -> None:
        """Forget everything; what was erased must not be shown again."""
        with self._lock:
            self._kept.clear()
            self._characters = 0

    def _made(self, key: tuple[str, int | str], make: Callable[[], str]) -> Line:
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        text = make()
        made = Line(text, count_text(text, self._encoding)[0])
        with self._lock:
            if key not in self._kept:
                self._characters += len(text)
            self._kept[key] = made
            while self._characters > ROOM:
                _, oldest = self._kept.popitem(last=False)
                self._characters -= len(oldest.text)
        return made
