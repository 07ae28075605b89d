"""The hits of a search, grouped by unit and sorted by score; kept as columns for speed."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import rank_groups
from warmset.options import DECISIONS, least_score
from warmset.state.ledger import columns_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from warmset.options import Weights
    from warmset.pick import Picked
    from warmset.quote.cache import Cards
    from warmset.retrieve.hits import Found
    from warmset.state.columns import Columns
    from warmset.state.entries import Live
    from warmset.state.entry import Entry
    from warmset.state.ledger import Ledger
    from warmset.state.unit_costs import Accounts
    from warmset.window.decisions import Decisions

QUOTE_OVERHEAD: Final = 8
"""Tokens of a quoted turn's id and speaker, as an estimate; the final count is exact."""


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
        least: The score that a hit needed.
        filled: Whether that is less than usual, because room was left.
    """

    units: NDArray[np.int64]
    values: NDArray[np.float64]
    tokens: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    live: Live
    accounts: Accounts
    columns: Columns
    count: int
    least: float
    filled: bool

    def cost(
        self, cards: Cards, ranks: NDArray[np.int64], lock: AbstractContextManager[object]
    ) -> int:
        """Return the approximate tokens of quoting units, with the lines that name the days.

        A unit belongs to the day of its first message.

        Args:
            cards: Makes quotes.
            ranks: The units.
            lock: The engine's lock, under which the tokens are noted.
        """
        units = np.sort(self.units[ranks])
        costs = self.columns.quoted[units]
        if not costs.all():
            fresh = np.flatnonzero(costs == 0)
            made = self._members(units[fresh])
            cards.make_quotes(one for unit in made for one in unit)
            costs[fresh] = [sum([cards.quote(one).tokens for one in unit]) for unit in made]
            with lock:
                self.columns.note_quoted(self.count, units, costs)
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

    def decisions(self, held: Decisions, shown: Collection[int]) -> list[Entry]:
        """Return the newest decisions of the conversation that hold, the newest first.

        Args:
            held: The conversation's decisions.
            shown: Ids of messages that the window shows.
        """
        found: list[Entry] = []
        for at in reversed(held.holding):
            if at < self.count and (one := self.live[at]).id not in shown:
                found.append(one)
                if len(found) == DECISIONS:
                    break
        return found

    def others(self, held: Decisions, shown: Iterable[tuple[Entry, ...]], most: int) -> list[Entry]:
        """Return the messages that may get an index line: the best, then decisions that hold.

        Args:
            held: The conversation's decisions.
            shown: Units that are quoted, whose messages need no line.
            most: The number of the best ones.
        """
        taken = {entry.id for unit in shown for entry in unit}
        near = self.places[self.places >= 0]
        pairs = zip(near.tolist(), self.columns.ids[near].tolist(), strict=True)
        left = [at for at, id_ in pairs if id_ not in taken]
        best, rest = left[:most], np.array(left[most:], np.int64)
        settle = [at for at in rest[self.columns.decides[rest]].tolist() if held.holds(at)]
        return self.live.at((*best, *settle))


def gather(
    ledger: Ledger, found: Found, picked: Picked, weights: Weights, room: int | None = None
) -> Pool:
    """Group the hits of a search by unit; the caller holds the engine's lock.

    Args:
        ledger: The conversation.
        found: The hits of the search.
        picked: The hits that were picked.
        weights: Has the weight of decisions.
        room: The most tokens for the units. If those above the cut leave some of it empty, the cut
            falls. If not given, it stays.

    Returns:
        The units with picked messages, and the hits that may get an index line.
    """
    columns = columns_of(ledger)
    ids, scores = found.columns
    path = columns.ids, columns.homes, columns.settles

    def ranked(
        chosen: NDArray[np.int64], worth: NDArray[np.float64], more: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        return rank_groups(
            chosen, worth, members=path[0], groups=path[1], raised=path[2], more=more
        )

    filled = False
    if picked.by == "score":
        least = math.inf if _nothing_matches(found, weights) else least_score(found.scores)
        count = _above(found.scores, least)
        places, units, values = ranked(ids[:count], scores[:count], weights.decision)
        if room is not None and 0 < count < len(ids):
            tokens = int(columns.tokens[units].sum() + QUOTE_OVERHEAD * columns.sizes[units].sum())
            filled = tokens < room
            if filled:
                least = least_score(found.scores, tokens / room)
                count = _above(found.scores, least)
                places, units, values = ranked(ids[:count], scores[:count], weights.decision)
    else:
        least = -math.inf
        chosen = np.array(picked.ids, np.int64)
        order = np.arange(len(chosen), dtype=np.float64)
        _, units, values = ranked(chosen, 1.0 / (1.0 + order), 0.0)
        places = columns.places(ids)
    return Pool(
        units=units,
        values=values,
        tokens=columns.tokens[units].astype(np.int64),
        sizes=columns.sizes[units].astype(np.int64),
        places=places,
        live=ledger.live(),
        accounts=ledger.accounts(),
        columns=columns,
        count=columns.count,
        least=least,
        filled=filled,
    )


def _above(scores: list[float], least: float) -> int:
    """Return how many scores, in descending order, are not below one."""
    return bisect_left(scores, True, key=lambda score: score < least)


def _nothing_matches(found: Found, weights: Weights) -> bool:
    """Return whether even the best hits are on another subject; see `Found.matches`.

    Without vectors there is no such limit: few words of a question may be those of its answer.
    """
    if found.by != "fused" or not len(found):
        return False
    return not found.matches(weights)
