"""What a window shows of turns, made once and kept: quotes and lines, each with its tokens."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from warmset._core import count_text, may_say
from warmset.quote.format import day_line, head, index_line, quote
from warmset.quote.plain import quoter
from warmset.text.changes import changes_value, statements, supersedes
from warmset.text.features import SPEAKING
from warmset.text.resolved_dates import resolved
from warmset.text.superseding import topics_of
from warmset.text.timestamps import day_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from warmset._core import ColdStore, Quoter
    from warmset.state.entry import Entry
    from warmset.text.changes import Statements
    from warmset.text.superseding import Topic

TOPICS: Final = 8_192
"""Decisions whose topics are kept at most."""

ROOM: Final = 16_000_000
"""Characters that are kept at most. Half of them are old: what is not asked for again, while as
many others are, leaves."""

STATEMENTS: Final = 32_768
"""Messages whose statements and phrases of time are kept at most; most have none."""

NONE: Final[Mapping[int, str]] = {}

_T = TypeVar("_T")

_Key: TypeAlias = int | str | tuple[int, int]
"""A message's id for its quote, the negative one for its line, that with the id of its description
for a line that callables made, any other text itself."""


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
        described: Reads the description that callables made of a message, by its record's id.
        store: The store, from which plain messages are read and quoted together; None reads all of
            them one by one.
    """

    def __init__(
        self,
        read: Callable[[int], str],
        encoding: str,
        described: Callable[[int], Mapping[str, Any]] | None = None,
        store: ColdStore | None = None,
    ) -> None:
        self._read = read
        self._described = described
        self._store = store
        self._encoding = encoding
        self._young: dict[_Key, Line] = {}
        self._old: dict[_Key, Line] = {}
        self._characters = 0
        self._cleared = 0
        self._topics: _Known[tuple[Topic, ...]] = _Known(TOPICS)
        self._stated: _Known[Statements] = _Known(STATEMENTS)
        self._changing: _Known[bool] = _Known(STATEMENTS)
        self._dated: _Known[list[tuple[str, str]]] = _Known(STATEMENTS)

    @cached_property
    def _quoter(self) -> Quoter:
        return quoter(self._encoding)

    def plain(self, text: str) -> Line:
        """Return a text that stands in many windows."""
        return self._young.get(text) or self._made(text, lambda: text)

    def day(self, number: int) -> Line:
        """Return the line above the turns of a day, counted from 1970."""
        return self.plain(day_line(number))

    def quote(self, entry: Entry) -> Line:
        """Return a message as it is quoted."""
        id_ = entry.id
        known = self._young.get(id_)
        return known or self._made(id_, lambda: quote(entry, self._read(id_)))

    def line(self, entry: Entry) -> Line:
        """Return a message's line in the index."""
        id_, made = entry.id, entry.described
        if made is not None and self._described is not None:
            key, read = (id_, made.record), self._described
            return self._young.get(key) or self._made(
                key, lambda: index_line(entry, self._read(id_), read(made.record))
            )
        known = self._young.get(-id_)
        return known or self._made(-id_, lambda: index_line(entry, self._read(id_)))

    def make_quotes(self, entries: Iterable[Entry]) -> None:
        """Quote messages together, which is sooner, as far as they are plain; see `quoter`."""
        wanted = [(one.id, head(one)) for one in entries if self._lacks(one.id)]
        self._together(wanted, 1, self._quoter.quotes)

    def make_lines(self, entries: Iterable[Entry]) -> None:
        """Make messages' lines in the index together; see `make_quotes`."""
        wanted = [
            (one.id, head(one, flagged=True))
            for one in entries
            if not one.described and self._lacks(-one.id)
        ]
        self._together(wanted, -1, self._quoter.lines)

    def topics(self, entry: Entry) -> tuple[Topic, ...]:
        """Return what a decision is about."""
        return self._topics.of(entry, lambda: topics_of(self._read(entry.id)))

    def phrases(self, entry: Entry) -> list[tuple[str, str]]:
        """Return what "yesterday" and the like meant in a message; see `resolved`."""
        return self._dated.of(
            entry, lambda: resolved(self._read(entry.id), entry.facts.role, entry.at)
        )

    def changes(self, entry: Entry) -> bool:
        """Return whether a message changes a value that another one set."""
        if (who := _who(entry)) not in SPEAKING:
            return False
        return self._changing.of(entry, lambda: changes_value(self._read(entry.id), who))

    def statements(self, entry: Entry) -> Statements:
        """Return the values that a message states and changes; see `statements`."""
        return self._stated.of(entry, lambda: statements(self._read(entry.id), _who(entry)))

    def changed_by(self, entry: Entry, later: Statements) -> bool:
        """Return whether a later message changes a value that one states; see `supersedes`."""
        return supersedes(later, self._read(entry.id), _who(entry))

    def may_say(self, ids: Sequence[int], stems: Collection[str]) -> Sequence[bool]:
        """Return which messages may have a word with one of some stems; see `_core.may_say`."""
        if self._store is None:
            return [True] * len(ids)
        return may_say(self._store, ids, list(stems))

    def quotes(self, entries: Iterable[Entry], changed: Mapping[int, str] = NONE) -> list[Line]:
        """Quote messages in order, with a line for the day wherever it changes.

        Args:
            entries: The messages.
            changed: By id, the line behind a message of which a value was changed later.
        """
        entries = list(entries)
        self.make_quotes(entries)
        out: list[Line] = []
        last = None
        for entry in entries:
            number = day_of(entry.at)
            if number != last:
                out.append(self.day(number))
                last = number
            out.append(self.quote(entry))
            if entry.id in changed:
                out.append(self.plain(changed[entry.id]))
        return out

    def clear(self) -> None:
        """Forget everything, what is just being made too: it may have been erased meanwhile."""
        self._cleared += 1
        self._young, self._old, self._characters = {}, {}, 0
        for known in (self._topics, self._stated, self._changing, self._dated):
            known.clear()

    def _lacks(self, key: _Key) -> bool:
        """Return whether nothing is kept under a key."""
        return key not in self._young and key not in self._old

    def _together(
        self,
        wanted: Sequence[tuple[int, str]],
        sign: int,
        make: Callable[[ColdStore, Sequence[tuple[int, str]]], list[tuple[str, int] | None]],
    ) -> None:
        if self._store is None or not wanted:
            return
        cleared, made = self._cleared, make(self._store, wanted)
        if cleared != self._cleared:
            return
        for (id_, _), line in zip(wanted, made, strict=True):
            if line is not None:
                self._keep(sign * id_, Line(*line))

    def _made(self, key: _Key, make: Callable[[], str]) -> Line:
        cleared, line = self._cleared, self._old.get(key)
        if line is None:
            text = make()
            line = Line(text, count_text(text, self._encoding)[0])
        if cleared == self._cleared:
            self._keep(key, line)
        return line

    def _keep(self, key: _Key, line: Line) -> None:
        self._young[key] = line
        self._characters += len(line.text)
        if self._characters > ROOM // 2:
            self._young, self._old, self._characters = {}, self._young, 0


class _Known(Generic[_T]):
    """What is known of messages by reading them.

    Args:
        most: The most messages of which it is kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[int, _T] = {}

    def of(self, entry: Entry, make: Callable[[], _T]) -> _T:
        """Return what is known of a message, and read it if that is nothing yet."""
        kept = self._made
        known = kept.get(entry.id)
        if known is None:
            known = make()
            if len(kept) >= self._most:
                kept.clear()
            kept[entry.id] = known  # into what is forgotten already, if it was erased meanwhile
        return known

    def clear(self) -> None:
        """Forget everything, what is just being made too."""
        self._made = {}


def _who(entry: Entry) -> str:
    """Return the role of a message; that of a tool's result is "tool" in every dialect."""
    return "tool" if entry.facts.results else entry.facts.role
