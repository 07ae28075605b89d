"""Money saved: beside the whole list with its cache, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from warmset.money import Bill
from warmset.serve.proxy.saving import Before, saved_usd

MODEL = "claude-opus-5-5"  # a million tokens: fresh 4, from the cache 0.20, written 5
BEFORE = Before(90_000, MODEL, 100.0)


def window(*, sent=10_000, whole=100_000, cached=8_000, active=True, kept=0):
    report = SimpleNamespace(active=active, tokens_in=whole, tokens_sent=sent, cached=cached)
    return SimpleNamespace(report=report, synced=SimpleNamespace(kept=kept))


def bill(fresh, cached=0, written=0):
    return Bill(
        fresh=fresh,
        cached=cached,
        written=written,
        output=777,
        price=None,
        missed=0,
        difference=None,
    )


@pytest.mark.parametrize(
    ("given", "paid", "before", "now", "saved"),
    [
        # Of a new conversation nothing is cached, and writing costs more than fresh tokens.
        (window(), None, None, 0.0, 0.4 - 0.04),
        # The whole list would have had the one before in the cache, the window what is the same.
        (window(), None, BEFORE, 110.0, 0.068 - (8_000 * 0.2 + 2_000 * 5) / 1e6),
        (window(kept=9), None, BEFORE, 110.0, 0.068 - 0.0116),
        (window(kept=9), None, BEFORE, 400.0, 0.068 - 0.0116),  # the last second of the cache
        (window(kept=9), None, BEFORE, 400.5, 0.4 - 0.04),
        (window(), None, Before(90_000, "another", 100.0), 110.0, 0.36),
        (window(), bill(500, 9_000, 500), BEFORE, 110.0, 0.068 - 0.0063),
        # The provider counts twice as many tokens; so it would have of the whole list.
        (window(), bill(1_000, 18_000, 1_000), BEFORE, 110.0, 2 * (0.068 - 0.0063)),
        # A window that is not cached may cost more than a list that is.
        (window(sent=80_000), bill(80_000), BEFORE, 110.0, 0.068 - 0.32),
        (window(active=False), bill(9_000), None, 0.0, 0.0),
        (window(active=False, kept=3), None, None, 0.0, 0.0),
    ],
)
def test_the_price_of_the_whole_list_less_that_of_the_window(given, paid, before, now, saved):
    assert saved_usd(given, paid, MODEL, before, now) == pytest.approx(saved, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "model", "before"),
    [
        (window(), "gpt-of-nobody", BEFORE),
        (window(), None, BEFORE),
        (window(sent=0), MODEL, BEFORE),
        (window(kept=1), MODEL, None),  # it is older than this process
    ],
)
def test_what_is_not_known_is_not_told(given, model, before):
    assert saved_usd(given, None, model, before, 110.0) is None
