"""The money that a window saves beside sending the whole list, as little as it may be.

The whole list would have been cached by the provider as well: it has the list of the request before
at its front. Of the two prices that it could have had, with the cache and without one, the lower
counts. Prices of replies are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset.money import expected_money, price, prices_of

if TYPE_CHECKING:
    from warmset.money import Bill, Prices
    from warmset.window.result import Window


@dataclass(frozen=True, slots=True)
class Before:
    """The request of a conversation before this one.

    Args:
        tokens: The tokens of the whole list.
        model: The model that it asked.
        at: When, in seconds of a clock that only goes forward.
    """

    tokens: int
    model: str | None
    at: float


def saved_usd(
    window: Window, bill: Bill | None, model: str | None, before: Before | None, now: float
) -> float | None:
    """Return what a window saves, in US dollars; negative if it costs more than the whole list.

    Args:
        window: The window that was sent.
        bill: What the provider says that it took; what is expected counts if not given.
        model: The model that it was sent to.
        before: The request before; None if none is known.
        now: The time, by the clock of `before`.

    Returns:
        The money; None if the model's prices are not known, or the conversation is older than what
        is known of it.
    """
    report = window.report
    prices = None if model is None else prices_of(model)
    if prices is None or not report.tokens_sent:
        return None
    if not report.active:
        return 0.0
    known = window.synced is not None and window.synced.kept > 0
    if before is None and known:
        return None
    same, idle = 0, None
    if before is not None and before.model == model:
        same, idle = before.tokens, now - before.at
    whole = _least(prices, tokens=report.tokens_in, same=same, idle=idle)
    if bill is None:
        return whole - _least(prices, tokens=report.tokens_sent, same=report.cached, idle=idle)
    paid = bill.fresh + bill.cached + bill.written
    spent = price(prices, bill.fresh, bill.cached, bill.written, 0)
    return whole * paid / report.tokens_sent - spent  # both in the tokens of the provider


def _least(prices: Prices, *, tokens: int, same: int, idle: float | None) -> float:
    fresh = price(prices, tokens, 0, 0, 0)
    with_cache = expected_money(prices, tokens=tokens, same=same, idle=idle).price
    return fresh if with_cache is None else min(fresh, with_cache)
