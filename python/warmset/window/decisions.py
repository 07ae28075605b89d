"""The decisions of a conversation that no later one supersedes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset._support.locks import guarded
from warmset.state.ledger import columns_of
from warmset.text.superseding import Open

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from warmset.quote.cache import Cards
    from warmset.state.columns import Columns
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger

MOST: Final = 256
"""The newest decisions of a conversation that are read at first: the first window waits for it.
Older ones are taken to hold."""


@guarded("engine", calls=("take",))
class Decisions:
    """The decisions of one conversation's current path; only new ones are read.

    What a tool returned decides nothing, whatever words it has. What the model decides does not
    change what a person decided.

    Args:
        cards: Reads what a decision is about.
    """

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._last = 0
        self._decides: NDArray[Any] = np.zeros(0, np.bool_)
        self._places: list[int] = []
        self._holding: list[int] = []
        self._open = Open()
        self._seen: tuple[Columns, int] | None = None

    @property
    def places(self) -> list[int]:
        """Their positions on the path, ascending."""
        return self._places

    @property
    def holding(self) -> list[int]:
        """The positions of those that no later one supersedes, ascending."""
        return self._holding

    def holds(self, at: int) -> bool:
        """Return whether no later decision supersedes the one at a position."""
        return at not in self._open.gone

    def take(self, live: Sequence[Entry], columns: Columns) -> None:
        """Take up the decisions of the current path; the caller holds the engine's lock.

        Args:
            live: The messages of the path.
            columns: They tell whether each of them settles something.
        """
        seen = columns, columns.version
        if self._seen != seen:
            self._seen = None  # unless all of them can be read
            self._take(live, columns.decides)
            self._seen = seen

    def _take(self, live: Sequence[Entry], decides: NDArray[Any]) -> None:
        known, self._decides = self._decides, np.zeros(0, np.bool_)
        count = len(known)
        if (
            not 0 < count <= len(live)
            or live[count - 1].id != self._last
            or not np.array_equal(known, decides[:count])
        ):
            count, self._places, self._open = 0, [], Open()
        new = [count + at for at in decides[count : len(live)].nonzero()[0].tolist()]
        new = [at for at in new if not live[at].facts.results]
        self._places += new
        for at in new[-MOST:]:
            asked = live[at].facts.role != "assistant"
            self._open.add(at, self._cards.topics(live[at]), asked=asked)
        if new or not self._places:
            self._holding = [at for at in self._places if self.holds(at)]
        self._decides = decides[: len(live)].copy()
        self._last = live[-1].id if live else 0


def decisions_of(cards: Cards, ledger: Ledger) -> Decisions:
    """Return a conversation's decisions; the caller holds the engine's lock."""
    kept = ledger.decisions
    if not isinstance(kept, Decisions):
        kept = ledger.decisions = Decisions(cards)
    kept.take(ledger.live(), columns_of(ledger))
    return kept
