"""What a search found, gathered to units: as columns, the best first; objects for what is shown."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from warmset._core import rank_groups
from warmset.columns import columns_of
from warmset.config import least_score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from warmset.accounts import Accounts
    from warmset.config import Weights
    from warmset.hits import Found
    from warmset.ledger import Entry, Ledger
    from warmset.pick import Picked


@dataclass(frozen=True, slots=True)
class Pool:
    """Units to choose from, and messages that may have a line.

    Args:
        units: The units' numbers, the best first.
        values: What each is worth, descending.
        tokens: What each costs verbatim.
        sizes: How many messages each has.
        places: The positions on the path of the messages that may have a line, the best first.
        live: All messages of the path.
        accounts: The path's units.
        count: How many messages the path had: what came later is not in it.
    """

    units: NDArray[np.int64]
    values: NDArray[np.float64]
    tokens: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    live: list[Entry]
    accounts: Accounts
    count: int

    def chosen(self, ranks: NDArray[np.int64]) -> list[tuple[Entry, ...]]:
        """Return the messages of units by their ranks."""
        live, members = self.live, self.accounts.members
        made: list[tuple[Entry, ...]] = []
        for number in self.units[ranks].tolist():
            places = members(number)
            if len(places) > 1:
                places = [place for place in places if place < self.count]
            made.append(tuple([live[place] for place in places]))
        return made

    def others(self, shown: Iterable[tuple[Entry, ...]], most: int) -> list[Entry]:
        """Return the messages that may have a line: those that settle something come first.

        Args:
            shown: Units that are shown otherwise.
            most: Messages that may have a line, besides those that settle something.
        """
        taken, live = {entry.id for unit in shown for entry in unit}, self.live
        near = [one for at in self.places.tolist() if at >= 0 and (one := live[at]).id not in taken]
        settle = [entry for entry in near if entry.decision]
        return settle + [entry for entry in near[:most] if not entry.decision]


def gather(ledger: Ledger, found: Found, picked: Picked, weights: Weights) -> Pool:
    """Gather what was found to units, under the engine's lock.

    Args:
        ledger: The conversation.
        found: What the search found.
        picked: What was chosen of it.
        weights: How much it counts that a unit settles something.

    Returns:
        The units that have something that was picked, and what was found that may have a line.
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
        count=columns.count,
    )
