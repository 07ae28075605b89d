"""The turns of a conversation that changed a value, each with the turns that set it before."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING, Final

from warmset._support.locks import guarded
from warmset.errors import Erased, NotFound
from warmset.index.cue import Cue
from warmset.options import ONLY_WORDS, Filter
from warmset.text.changes import subjects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger

MOST: Final = 256
"""The newest messages of a conversation that are read at first, and of many that come together: the
window waits for it."""

MORE: Final = 1
"""Older messages that each further window reads, until all are. Each costs some 35 µs: a window of
10,000 turns takes 2 ms."""

AT_ONCE: Final = 500
"""Messages that are compared at once with changes in messages that are new: some 100 ms at most."""

COMPARED: Final = 2
"""Messages that each window compares with changes that it found in older messages; each costs some
100 µs."""

READ: Final = 2
"""What it costs to read what a message changes, or to look for what is nearest to it, in messages
that are compared."""

NEAREST: Final = 64
"""Messages, the nearest by words, among which the old values of a change are looked for."""


@guarded("engine", calls=("take", "newer"))
class Changers:
    """The turns of one conversation's current path that changed a value.

    New messages are read at each call, the newest ones of many, with some older ones; what older
    ones change is looked for a little at a time, and so is what is left of many changes that came
    together. A path that was cut is read anew. Changes are rare, so the search begins with them:
    what a message that is shown states need not be read.

    Args:
        engine: The store and its index.
        ledger: The conversation.
    """

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine = engine
        self._ledger = ledger
        self._count = 0
        self._last = 0
        self._unread: list[range] = []
        self._newer: dict[int, Entry] = {}
        self._waiting: deque[Iterator[int]] = deque()

    def take(self) -> None:
        """Take up the messages of the current path; the caller holds the engine's lock."""
        live = self._ledger.live()
        if self._count > len(live) or (self._count and live[self._count - 1].id != self._last):
            self._count, self._newer, self._unread = 0, {}, []
            self._waiting.clear()
        first = max(len(live) - MOST, self._count)
        fresh = deque(self._changes(reversed(live[first:])))
        _compare(fresh, AT_ONCE)
        if first > self._count:
            self._unread.append(range(self._count, first))
        self._count, self._last = len(live), live[-1].id if live else 0
        self._waiting.extendleft(reversed(fresh))
        self._read_older(live)
        _compare(self._waiting, COMPARED)

    def newer(self, old: Entry) -> Entry | None:
        """Return the newest turn that changed a value of a message, also by way of others.

        One that has left the path since `take` is none.
        """
        found = None
        while (more := self._newer.get((found or old).id)) is not None:
            if self._ledger.place(more.id) is None:
                break
            found = more
        return found

    def _read_older(self, live: Sequence[Entry]) -> None:
        """Read the newest of the messages that were left unread."""
        if not self._unread:
            return
        left = self._unread[-1]
        self._waiting += self._changes(live[at] for at in left[-MORE:])
        rest = left[:-MORE]
        self._unread[-1:] = [rest] if rest else []

    def _changes(self, entries: Iterable[Entry]) -> Iterator[Iterator[int]]:
        """Return the comparisons of those messages that change something."""
        return map(self._comparisons, filter(self._engine.cards.changes, entries))

    def _comparisons(self, changer: Entry) -> Iterator[int]:
        """Note the earlier messages of which a turn changes a value, one after the other.

        Yields:
            What each step cost, in comparisons.
        """
        cards, ledger, newer = self._engine.cards, self._ledger, self._newer
        change = cards.statements(changer)
        about = subjects(change)
        yield READ
        for words in {one.said for one in change.changes}:
            near = [id_ for id_ in self._nearest(words) if id_ < changer.id]
            yield READ
            for id_ in compress(near, cards.may_say(near, about)):
                known = newer.get(id_)
                if known is not None and known.id > changer.id:
                    continue
                at = ledger.place(id_)
                if at is None:
                    continue
                with suppress(Erased, NotFound):  # meanwhile; the path lacks it soon
                    if cards.changed_by(ledger.live()[at], change):
                        newer[id_] = changer
                yield 1

    def _nearest(self, words: str) -> list[int]:
        """Return the messages of the conversation with most of the words, by id."""
        tenant, conversation = self._ledger.numbers
        where = Filter(tenant=tenant, conversation=conversation)
        search = self._engine.retriever.search
        ids, _, _ = search(None, words, NEAREST, where=where, weights=ONLY_WORDS, cue=Cue())
        found: list[int] = ids.tolist()
        return found


def _compare(waiting: deque[Iterator[int]], most: int) -> None:
    """Compare messages with changes that wait, until that has cost so much."""
    while most > 0 and waiting:
        cost = next(waiting[0], 0)
        if not cost:
            waiting.popleft()
        most -= cost


def changers_of(engine: Engine, ledger: Ledger) -> Changers:
    """Return a conversation's turns that changed a value; the caller holds the engine's lock."""
    kept = ledger.changers
    if not isinstance(kept, Changers):
        kept = ledger.changers = Changers(engine, ledger)
    kept.take()
    return kept
