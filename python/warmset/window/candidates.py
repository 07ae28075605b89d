"""The hits of a search, grouped by unit and sorted by score; kept as columns for speed."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmset._core import rank_groups
from warmset.options import DECISIONS, least_score
from warmset.state.ledger import columns_of
from warmset.window.decisions import decided, superseded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from warmset.options import Weights
    from warmset.pick import Picked
    from warmset.quote.cache import Cards
    from warmset.retrieve.hits import Found
    from warmset.state.columns import Columns
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.state.unit_costs import Accounts


@dataclass(frozen=True, slots=True)
class Pool:
    """Units to choose from for quotes, and messages to choose from for index lines.

    Args:
        units: The units' numbers, the best first.
        values: The score of each, descending.
        tokens: The tokens of each, shown verbatim.
        sizes: The number of messages of each.
        places: The positions on the path of the messages that may get an index line, the best
            first.
        live: All messages of the path.
        accounts: The path's units.
        columns: The path's columns.
        count: The length of the path when the pool was made; later messages are not in it.
    """

    units: NDArray[np.int64]
    values: NDArray[np.float64]
    tokens: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    live: list[Entry]
    accounts: Accounts
    columns: Columns
    count: int

    def cost(self, cards: Cards, ranks: NDArray[np.int64]) -> int:
        """Return the approximate tokens of quoting units, with the lines that name the days.

        A unit belongs to the day of its first message.

        Args:
            cards: Makes quotes.
            ranks: The units.
        """
        units = np.sort(self.units[ranks])
        costs = self.columns.quoted[units]
        if not costs.all():
            fresh = np.flatnonzero(costs == 0)
            made = self._members(units[fresh])
            costs[fresh] = [sum([cards.quote(one).tokens for one in unit]) for unit in made]
            if self.columns.count == self.count:  # otherwise a unit may have grown meanwhile
                self.columns.quoted[units] = costs
        days = self.columns.days[units]
        begins = [*days[:1].tolist(), *days[1:][days[1:] != days[:-1]].tolist()]
        return int(costs.sum()) + sum([cards.day(day).tokens for day in begins])

    def chosen(self, ranks: NDArray[np.int64]) -> list[tuple[Entry, ...]]:
        """Return the messages of units by their ranks."""
        return self._members(self.units[ranks])

    def _members(self, units: NDArray[np.int64]) -> list[tuple[Entry, ...]]:
        live, members = self.live, self.accounts.members
        made: list[tuple[Entry, ...]] = []
        for number in units.tolist():
            places = members(number)
            if len(places) > 1:
                places = [place for place in places if place < self.count]
            made.append(tuple([live[place] for place in places]))
        return made

    def decisions(self, cards: Cards, shown: Collection[int]) -> list[Entry]:
        """Return the newest decisions of the conversation that hold, the newest first.

        Args:
            cards: Reads what a decision is about.
            shown: Ids of messages that the window shows.
        """
        found: list[Entry] = []
        for at, holds in decided(cards, self.live, self.columns.decides[: self.count]):
            if holds and self.live[at].id not in shown:
                found.append(self.live[at])
                if len(found) == DECISIONS:
                    break
        return found

    def others(self, cards: Cards, shown: Iterable[tuple[Entry, ...]], most: int) -> list[Entry]:
        """Return the messages that may get an index line: the best, then decisions that hold.

        Args:
            cards: Reads what a decision is about.
            shown: Units that are quoted, whose messages need no line.
            most: The number of the best ones.
        """
        taken = {entry.id for unit in shown for entry in unit}
        near = self.places[self.places >= 0]
        ids, decides = self.columns.ids[near].tolist(), self.columns.decides[near].tolist()
        left = [one for one in zip(near.tolist(), ids, decides, strict=True) if one[1] not in taken]
        best = [at for at, _, _ in left[:most]]
        settle = [at for at, _, decision in left[most:] if decision]
        if settle:
            gone = superseded(cards, self.live, self.columns.decides[: self.count], min(settle))
            settle = [at for at in settle if at not in gone]
        return [self.live[at] for at in (*best, *settle)]


def gather(ledger: Ledger, found: Found, picked: Picked, weights: Weights) -> Pool:
    """Group the hits of a search by unit; the caller holds the engine's lock.

    Args:
        ledger: The conversation.
        found: The hits of the search.
        picked: The hits that were picked.
        weights: Has the weight of decisions.

    Returns:
        The units with picked messages, and the hits that may get an index line.
    """
    columns = columns_of(ledger)
    ids, scores = found.columns
    more = 0.0
    if picked.by == "score":
        least = least_score(found.scores)
        count = bisect_left(found.scores, True, key=lambda score: score < least)
        ids, worth, more = ids[:count], scores[:count], weights.decision
        chosen = ids
    else:
        chosen = np.array(picked.ids, np.int64)
        worth = 1.0 / (1.0 + np.arange(len(chosen), dtype=np.float64))
    path = columns.ids, columns.homes, columns.settles
    places, units, values = rank_groups(
        chosen, worth, members=path[0], groups=path[1], raised=path[2], more=more
    )
    return Pool(
        units=units,
        values=values,
        tokens=columns.tokens[units],
        sizes=columns.sizes[units],
        places=places if chosen is ids else columns.places(ids),
        live=ledger.live(),
        accounts=ledger.accounts(),
        columns=columns,
        count=columns.count,
    )
