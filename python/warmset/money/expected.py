"""What a list is expected to cost: what the prompt cache has of it, and what it takes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.money.bill import Money
from warmset.money.prices import price

if TYPE_CHECKING:
    from warmset.money.prices import Prices
    from warmset.money.spending import Spending


def expected_money(
    prices: Prices | None,
    *,
    tokens: int,
    same: int,
    idle: float | None = None,
    spending: Spending | None = None,
) -> Money:
    """Return the expected money of a call's input.

    The cache is taken to have what is the same as in the list before, if that is long enough and
    was sent within the cache's lifetime; and to take up all of the rest, as an Anthropic request
    with a cache mark at its end, or any request of OpenAI's.

    Args:
        prices: The model's prices; None if they are not known. Then nothing is taken to be written,
            and the cache to have all that is the same.
        tokens: The tokens of the list, system prompt and tools included.
        same: The tokens at its front that are the same as in the list before.
        idle: Seconds since the list before; None if there was none.
        spending: Where the call is added up when it is settled.
    """
    same = min(same, tokens)
    if prices is None:
        return Money(fresh=tokens - same, cached=same, written=0, _spending=spending)
    cached = 0 if idle is None or idle > prices.ttl else prices.cacheable(same)
    rest = tokens - cached
    written = 0 if prices.cache_write is None or not prices.cacheable(tokens) else rest
    return Money(
        fresh=rest - written,
        cached=cached,
        written=written,
        price=price(prices, rest - written, cached, written, 0),
        _prices=prices,
        _spending=spending,
    )
