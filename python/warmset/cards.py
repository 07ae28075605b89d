"""What a window shows of turns, made once and kept: quotes and lines, each with its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from warmset._core import count_text
from warmset.quoting import DAY, day_line, index_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warmset.ledger import Entry

ROOM: Final = 16_000_000
"""Characters that are kept at most. Half of them are old: what is not asked for again, while as
many others are, leaves."""

_Key: TypeAlias = "tuple[str, int | str]"


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
        self._young: dict[_Key, Line] = {}
        self._old: dict[_Key, Line] = {}
        self._characters = 0
        self._cleared = 0

    def plain(self, text: str) -> Line:
        """Return a text that stands in many windows."""
        return self._made(("plain", text), lambda: text)

    def quote(self, entry: Entry) -> Line:
        """Return a message as it is quoted."""
        key = ("quote", entry.id)
        known = self._young.get(key)
        if known is not None:
            return known
        return self._made(key, lambda: quote(entry, self._read(entry.id)))

    def line(self, entry: Entry) -> Line:
        """Return a message's line in the index."""
        return self._made(("line", entry.id), lambda: index_line(entry, self._read(entry.id)))

    def quotes(self, entries: Iterable[Entry]) -> list[Line]:
        """Quote messages in order, with a line for the day wherever it changes."""
        out: list[Line] = []
        last = None
        for entry in entries:
            number = entry.at // DAY
            if number != last:
                out.append(self.plain(day_line(entry)))
                last = number
            out.append(self.quote(entry))
        return out

    def cost(self, entries: Iterable[Entry]) -> int:
        """Return the tokens of messages that are quoted in order."""
        return sum([tokens for _, tokens in self.quotes(entries)])

    def clear(self) -> None:
        """Forget everything, what is just being made too: it may have been erased meanwhile."""
        self._cleared += 1
        self._young, self._old, self._characters = {}, {}, 0

    def _made(self, key: _Key, make: Callable[[], str]) -> Line:
        line = self._young.get(key)
        if line is not None:
            return line
        cleared, line = self._cleared, self._old.get(key)
        if line is None:
            text = make()
            line = Line(text, count_text(text, self._encoding)[0])
        if cleared != self._cleared:
            return line
        self._young[key] = line
        self._characters += len(line.text)
        if self._characters > ROOM // 2:
            self._young, self._old, self._characters = {}, self._young, 0
        return line
