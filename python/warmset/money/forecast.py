"""What the next calls of a conversation are expected to cost, by how its lists are made.

Two ways are compared. A list that only grows is read from the cache while the cache lives, and is
made anew near the budget. A list that is made for each request is read from the cache within an
exchange only, because it changes with the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

from warmset.money.prices import MILLION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.money.prices import Prices

CALLS: Final = 10
"""The number of calls that are looked ahead."""

EPOCH: Final = 100
"""The most calls of a list that is made anew which are looked at."""

MARGIN: Final = 0.03
"""The share by which a list is made longer than the cache's least prefix, because the provider may
count fewer tokens than are counted here."""


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
    start = swap_to * budget
    anew = anew_tokens(
        prices, rhythm, tokens=start, budget=budget, swap_at=swap_at, swap_to=swap_to
    )
    for gap, begins in rhythm.ahead():
        size = before + rhythm.growth
        same = before
        if size > budget or (begins and size >= swap_at * budget):
            same, size = 0.0, anew
        spent += _call(prices, gap, same=same, tokens=size)
        before = size
    return spent


def anew_tokens(
    prices: Prices, rhythm: Rhythm, *, tokens: float, budget: int, swap_at: float, swap_to: float
) -> float:
    """Return how many tokens a list that only grows has at best when it is made anew.

    If the cache takes no prefix that short, each call until it does pays the whole list as fresh,
    so a list with a little more than the cache's least prefix at once may cost less. It is not made
    longer than in the middle between the two shares, for it has to have room to grow.

    Args:
        prices: The model's prices.
        rhythm: How the calls follow each other.
        tokens: The tokens that it has otherwise.
        budget: The most tokens of a list.
        swap_at: The share of the budget at which it is made anew once more.
        swap_to: The share of the budget with which it is planned otherwise.
    """
    least = prices.cache_min * (1 + MARGIN)
    if not tokens < least <= middle_of(budget, swap_at=swap_at, swap_to=swap_to):
        return tokens
    costs = [
        epoch_cost(prices, rhythm, tokens=start, budget=budget, swap_at=swap_at)
        for start in (least, tokens)
    ]
    return least if costs[0] < costs[1] else tokens


def middle_of(budget: int, *, swap_at: float, swap_to: float) -> float:
    """Return the most tokens of a list that is made anew for a reason of its own."""
    return budget * (swap_at + swap_to) / 2


def epoch_cost(
    prices: Prices, rhythm: Rhythm, *, tokens: float, budget: int, swap_at: float
) -> float:
    """Return the mean price of a call's input from one list that is made anew to the next, in USD.

    Args:
        prices: The model's prices.
        rhythm: How the calls follow each other.
        tokens: The tokens that the list begins with.
        budget: The most tokens of a list.
        swap_at: The share of the budget at which it is made anew.
    """
    spent, calls, before = _call(prices, None, same=0.0, tokens=tokens), 1, tokens
    past = list(zip(rhythm.gaps, rhythm.begins, strict=True)) or [(0.0, False)]
    for gap, begins in islice(cycle(past), EPOCH):
        size = before + rhythm.growth
        if size > budget or (begins and size >= swap_at * budget):
            break
        spent, calls = spent + _call(prices, gap, same=before, tokens=size), calls + 1
        before = size
    return spent / calls


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
    rest = now.written if tokens >= prices.cache_min else now.fresh
    return (cached * now.cache_read + (tokens - cached) * rest) / MILLION
