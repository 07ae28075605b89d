"""Which turns are quoted, and which have a line in the scoped index, under a number of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._core import pack
from warmset.quote.format import CLOSING, INDEX_TITLE, OPENING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.window.candidates import Pool

QUOTE_OVERHEAD: Final = 8
"""Tokens of a quoted turn's id and speaker, for the plan; the final count is exact."""


def choose_quotes(engine: Engine, pool: Pool, room: int) -> tuple[tuple[Entry, ...], ...]:
    """Choose units to quote within a number of tokens: the most valuable that fit.

    Args:
        engine: Where texts are read.
        pool: Units to choose from, the best first.
        room: Tokens for all of them.

    Returns:
        The chosen units, the best first.
    """
    cards = engine.cards
    free = room - cards.plain(OPENING).tokens - cards.plain(CLOSING).tokens
    if free <= 0 or not len(pool.units):
        return ()
    costs = pool.tokens + QUOTE_OVERHEAD * pool.sizes
    least = int(costs.min())
    taken = pack(costs, pool.values, free)
    # The lines that tell the day are shared by its turns, so their cost is known only
    # once a choice is made: choose, count, choose again with that taken off.
    actual, planned = pool.cost(cards, taken), int(costs[taken].sum())
    left = free - (actual - planned)
    if actual > free or left - planned >= least:
        taken = pack(costs, pool.values, max(left, 0))
    return tuple(pool.chosen(taken))


def choose_lines(engine: Engine, entries: Sequence[Entry], room: int) -> tuple[Entry, ...]:
    """Choose lines for the scoped index within a number of tokens, the first that fit.

    Args:
        engine: Where texts are read.
        entries: Messages that are not shown otherwise, the most important first.
        room: Tokens for all lines.

    Returns:
        The chosen messages, the most important first.
    """
    cards = engine.cards
    left = room - cards.plain(INDEX_TITLE).tokens
    chosen: list[Entry] = []
    for entry in entries:
        if left <= 0:
            break
        tokens = cards.line(entry).tokens
        if tokens <= left:
            chosen.append(entry)
            left -= tokens
    return tuple(chosen)
