"""Which turns are quoted, and which have a line in the scoped index, under a number of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset._core import pack
from warmset.quoting import CLOSING, INDEX_TITLE, OPENING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine import Engine
    from warmset.ledger import Entry

QUOTE_OVERHEAD: Final = 8
"""Tokens of a quoted turn's id and speaker, for the plan; the final count is exact."""


def choose_quotes(
    engine: Engine,
    units: Sequence[tuple[Entry, ...]],
    values: Sequence[float],
    room: int,
) -> tuple[tuple[Entry, ...], ...]:
    """Choose units to quote within a number of tokens: the most valuable that fit.

    Args:
        engine: Where texts are read.
        units: Units to choose from, the best first.
        values: What each is worth.
        room: Tokens for all of them.

    Returns:
        The chosen units, the best first.
    """
    cards = engine.cards
    free = room - cards.plain(OPENING).tokens - cards.plain(CLOSING).tokens
    if free <= 0 or not units:
        return ()
    costs = [sum(entry.tokens + QUOTE_OVERHEAD for entry in unit) for unit in units]
    chosen: list[int] = []
    left = free
    # The lines that tell the day are shared by its turns, so their cost is known only
    # once a choice is made: choose, count, choose again with that taken off.
    for _ in range(2):
        chosen = pack(costs, values, max(left, 0)).tolist()
        turns = sorted((e for at in chosen for e in units[at]), key=lambda entry: entry.id)
        actual = sum(line.tokens for line in cards.quotes(turns))
        planned = sum(costs[at] for at in chosen)
        left = free - (actual - planned)
        if actual <= free and left - planned < min(costs):
            break
    order = sorted(chosen, key=lambda at: (-values[at], at))
    return tuple(units[at] for at in order)


def choose_lines(engine: Engine, entries: Sequence[Entry], room: int) -> tuple[Entry, ...]:
    """Choose lines for the scoped index within a number of tokens: decisions first, then by rank.

    Args:
        engine: Where texts are read.
        entries: Messages that are not shown otherwise, the best first.
        room: Tokens for all lines.

    Returns:
        The chosen messages, the most important first.
    """
    order = sorted(entries, key=lambda entry: not entry.decision)
    costs = [engine.cards.line(entry).tokens for entry in order]
    values = [float(len(order) - at) for at in range(len(order))]
    title = engine.cards.plain(INDEX_TITLE).tokens
    if room <= title or not order:
        return ()
    return tuple(order[at] for at in pack(costs, values, room - title).tolist())
