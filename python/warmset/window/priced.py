"""Adds to a window's report what the call is expected to cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.money import expected_money, prices_of

if TYPE_CHECKING:
    from warmset.money import Spending
    from warmset.window.options import WindowOptions
    from warmset.window.result import Window


def with_money(window: Window, options: WindowOptions, spending: Spending) -> Window:
    """Return the window with `report.money`.

    Args:
        window: The window.
        options: Its options; their prices come before those of the table for their model.
        spending: What the conversation's calls took, and when its last window was made.
    """
    prices = options.prices
    if prices is None and options.model is not None:
        prices = prices_of(options.model)
    report = window.report
    money = expected_money(
        prices,
        tokens=report.tokens_sent,
        same=report.cached,
        idle=spending.idle(),
        spending=spending,
    )
    return replace(window, report=replace(report, money=money))
