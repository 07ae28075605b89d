"""Chooses the turns to quote, and those to list in the scoped index, within a token limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._core import pack
from warmset.options import DECISION_SHARE
from warmset.quote.format import INDEX_TITLE
from warmset.text.markup import CLOSING, OPENING
from warmset.window.candidates import QUOTE_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.state.entry import Entry
    from warmset.window.candidates import Pool

SHORTEST_LINE: Final = 6
"""Tokens that a line of the index has at least: an id, a role, a word."""

TOGETHER: Final = 8
"""Lines that are made together: one by one takes longer, and not all of many may be needed."""


def choose_quotes(engine: Engine, pool: Pool, room: int) -> tuple[tuple[Entry, ...], ...]:
    """Choose the units to quote: those with the highest total score that fit.

    Args:
        engine: The store, from which texts are read.
        pool: Units to choose from, the best first.
        room: The most tokens for all of them.

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
    # Turns of one day share the line that names the day, so the tokens of these lines are known
    # only after a choice: choose, count, and choose again with that many tokens less.
    actual, planned = pool.cost(cards, taken, engine.lock), int(costs[taken].sum())
    left = free - (actual - planned)
    if actual > free or left - planned >= least:
        taken = pack(costs, pool.values, max(left, 0))
    return tuple(pool.chosen(taken))


def choose_lines(
    engine: Engine, decisions: Sequence[Entry], found: Sequence[Entry], room: int
) -> tuple[Entry, ...]:
    """Choose the messages to list in the scoped index, while they fit.

    The newest decisions take a share of the room, then come the messages that were found, then the
    other decisions.

    Args:
        engine: The store, from which texts are read.
        decisions: Decisions of the conversation that are not shown elsewhere, the newest first.
        found: Messages that were found and are not shown elsewhere, the best first.
        room: The most tokens for all lines.

    Returns:
        The chosen messages, the most important first.
    """
    cards = engine.cards
    left = room - cards.plain(INDEX_TITLE).tokens
    chosen: dict[int, Entry] = {}
    for entries, least in (
        (decisions, int(left * (1 - DECISION_SHARE))),
        (found, 0),
        (decisions, 0),
    ):
        for at, entry in enumerate(entries):
            if left < least + SHORTEST_LINE:
                break
            if at % TOGETHER == 0:
                cards.make_lines(entries[at : at + TOGETHER])
            tokens = 0 if entry.id in chosen else cards.line(entry).tokens
            if 0 < tokens <= left - least:
                chosen[entry.id] = entry
                left -= tokens
    return tuple(chosen.values())


def lines_tokens(engine: Engine, lines: Sequence[Entry]) -> int:
    """Return the tokens of an index of these messages; none without any."""
    if not lines:
        return 0
    cards = engine.cards
    return cards.plain(INDEX_TITLE).tokens + sum([cards.line(entry).tokens for entry in lines])
