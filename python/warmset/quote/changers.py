"""The turns of a conversation that changed a value, found by what they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.text.changes import keys_of, superseded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.quote.cache import Cards
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger

MOST: Final = 256
"""The newest messages of a conversation that are read at first: the first window waits for it."""

MORE: Final = 4
"""Older messages that each further window reads, until all are."""


class Changers:
    """The turns of one conversation's current path that changed a value.

    The newest messages are read at first, new ones and some older ones at each call; a path that
    was cut is read anew.

    Args:
        cards: Reads what messages state.
    """

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._count = 0
        self._last = 0
        self._first = 0
        self._turns: dict[int, Entry] = {}
        self._by_key: dict[tuple[str, str], list[int]] = {}
        self._known: dict[int, tuple[int, int]] = {}

    def take(self, live: Sequence[Entry]) -> None:
        """Take up the messages of the current path; the caller holds the engine's lock."""
        if self._count > len(live) or (self._count and live[self._count - 1].id != self._last):
            self._count, self._turns, self._by_key, self._known = 0, {}, {}, {}
        if not self._count:
            self._first = self._count = max(len(live) - MOST, 0)
        older = max(self._first - MORE, 0)
        for entry in (*live[older : self._first], *live[self._count :]):
            if self._cards.changes(entry):
                self._turns[entry.id] = entry
                for key in keys_of(self._cards.statements(entry)):
                    self._by_key.setdefault(key, []).append(entry.id)
        self._first = older
        self._count, self._last = len(live), live[-1].id if live else 0

    def newer(self, old: Entry) -> Entry | None:
        """Return the newest turn that changed a value of a message, also by way of others."""
        if not self._turns:
            return None
        found = self._newer(old)
        while found and (more := self._newer(self._turns[found])):
            found = more
        return self._turns.get(found)

    def _newer(self, old: Entry) -> int:
        version, known = self._known.get(old.id, (0, 0))
        if version == len(self._turns):
            return known
        version, stated = len(self._turns), self._cards.statements(old)
        keys = {(one.kind, word) for one in stated.stated for word in one.around}
        near = {id_ for key in keys for id_ in self._by_key.get(key, ()) if id_ > old.id}
        turns, read = self._turns, self._cards.statements
        newest = (id_ for id_ in sorted(near, reverse=True) if superseded(stated, read(turns[id_])))
        known = next(newest, 0)
        self._known[old.id] = version, known
        return known


def changers_of(cards: Cards, ledger: Ledger) -> Changers:
    """Return a conversation's turns that changed a value; the caller holds the engine's lock."""
    kept = ledger.changers
    if not isinstance(kept, Changers):
        kept = ledger.changers = Changers(cards)
    kept.take(ledger.live())
    return kept
