"""What the next calls of a conversation are expected to cost, by how its lists are made.

Two ways are compared. A list that only grows is read from the cache while the cache lives, and is
made anew near the budget. A list that is made for each request is read from the cache within an
exchange only, because it changes with the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.money.prices import MILLION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.money.prices import Prices

CALLS: Final = 10
"""The number of calls that are looked ahead."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How the last calls of a conversation followed each other.

    Args:
        idle: Seconds since the call before the next one; None if there was none.
        gaps: Seconds before each of the last calls, the newest first.
        begins: Whether each of them began an exchange.
        growth: The tokens that a call adds to the conversation, on average.
    """

    idle: float | None
    gaps: Sequence[float]
    begins: Sequence[bool]
    growth: float

    def ahead(self) -> list[tuple[float | None, bool]]:
        """Return the expected gap before each of the next calls, and whether it begins an exchange.

        The next call begins one; those after it follow each other as the last ones did.
        """
        coming: list[tuple[float | None, bool]] = [(self.idle, True)]
        past = list(zip(self.gaps, self.begins, strict=True)) or [(0.0, False)]
        while len(coming) < CALLS:
            coming.append(past[(len(coming) - 1) % len(past)])
        return coming


def growing_cost(
    prices: Prices, rhythm: Rhythm, *, tokens: int, budget: int, swap_at: float, swap_to: float
) -> float:
    """Return the expected price of the next calls' input with a list that only grows, in USD.

    Args:
        prices: The model's prices.
        rhythm: How the calls follow each other.
        tokens: The tokens of the list as it is, system prompt and tools included.
        budget: The most tokens of a list.
        swap_at: The share of the budget at which it is made anew.
        swap_to: The share of the budget that it has then.
    """
    spent, before = 0.0, float(tokens)
    for gap, begins in rhythm.ahead():
        size = before + rhythm.growth
        same = before
        if size > budget or (begins and size >= swap_at * budget):
            same, size = 0.0, swap_to * budget
        spent += _call(prices, gap, same=same, tokens=size)
        before = size
    return spent


def renewed_cost(prices: Prices, rhythm: Rhythm, *, tokens: int, budget: int) -> float:
    """Return the expected price of the next calls' input with a list for each request, in USD.

    Args:
        prices: The model's prices.
        rhythm: How the calls follow each other.
        tokens: The tokens of such a list, system prompt and tools included.
        budget: The most tokens of a list.
    """
    spent, before = 0.0, 0.0
    for gap, begins in rhythm.ahead():
        size = min(float(tokens) if begins else before + rhythm.growth, float(budget))
        spent += _call(prices, gap, same=0.0 if begins else min(before, size), tokens=size)
        before = size
    return spent


def _call(prices: Prices, gap: float | None, *, same: float, tokens: float) -> float:
    """Return the price of one call's input, in USD."""
    now = prices.at(int(tokens))
    cached = 0.0 if gap is None or gap > prices.ttl else min(same, tokens)
    if cached < prices.cache_min:
        cached = 0.0
    return (cached * now.cache_read + (tokens - cached) * now.written) / MILLION
