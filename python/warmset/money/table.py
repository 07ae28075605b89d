"""The dated table of prices, and how a model's name finds its row.

USD a million tokens of the standard tier, compiled on 2026-11-22. What a row's source does not
name is left at what most models of its provider have. A provider may change a price on any day:
put your own into `PRICES`, or pass `prices=`.
"""

from __future__ import annotations

import re
from typing import Final

from warmset.errors import InvalidInputError
from warmset.money.prices import Prices, Surcharge

DAY: Final = "2026-11-22"

_PAGE: Final = "Anthropic's pricing page and its model overviews"
_TRACKED: Final = "Anthropic's price list as several trackers of prices copied it"
_OPENAI: Final = "OpenAI's model page"
_NEWS: Final = "OpenAI's price list as resellers and trackers of prices copied it"
_GOOGLE: Final = "Google's page of Gemini API prices, read 2026-10-07; cached at a tenth of fresh"

HOUR: Final = 3_600.0
_OVER_272K: Final = Surcharge(above=272_000, input=2.0, output=1.5)
_OVER_200K: Final = Surcharge(above=200_000, input=2.0, output=1.5)


def _claude(
    fresh: float,
    read: float,
    output: float,
    least: int = 1_024,
    *,
    surcharge: Surcharge | None = None,
    source: str = _PAGE,
) -> Prices:
    """Write a row of Anthropic's: writing costs 1.25 for five minutes, 2 for an hour."""
    return Prices(
        fresh=fresh,
        cache_read=read,
        output=output,
        cache_write=fresh * 1.25,
        ttl=300.0,
        long_cache_write=fresh * 2,
        long_ttl=HOUR,
        cache_min=least,
        surcharge=surcharge,
        as_of=DAY,
        source=source,
    )


def _gpt(
    fresh: float, read: float, output: float, *, half_day: float | None = None, source: str = _NEWS
) -> Prices:
    """Write a row of OpenAI's: writing costs 1.25 for 30 minutes at least."""
    return Prices(
        fresh=fresh,
        cache_read=read,
        output=output,
        cache_write=fresh * 1.25,
        ttl=HOUR / 2,
        long_cache_write=half_day,
        long_ttl=None if half_day is None else 12 * HOUR,
        surcharge=_OVER_272K,
        as_of=DAY,
        source=source,
    )


def _gemini(
    fresh: float, output: float, least: int = 1_024, *, surcharge: Surcharge | None = None
) -> Prices:
    """Write a row of Google's: caching is automatic, and writing costs nothing more."""
    return Prices(
        fresh=fresh,
        cache_read=fresh * 0.1,
        output=output,
        cache_min=least,
        surcharge=surcharge,
        as_of=DAY,
        source=_GOOGLE,
    )


PRICES: Final[dict[str, Prices]] = {
    "claude-fable-5-2": _claude(8, 0.20, 40, source=_TRACKED),
    "claude-fable-5-1": _claude(10, 0.25, 50, source=_TRACKED),
    "claude-mythos-5-1": _claude(10, 0.25, 50, source=_TRACKED),
    "claude-fable-5": _claude(10, 1.00, 50, 512, source=_TRACKED),
    "claude-mythos-5": _claude(10, 1.00, 50, 512, source=_TRACKED),
    "claude-opus-5-5": _claude(4, 0.20, 20),
    "claude-opus-5": _claude(5, 0.50, 25, 512),
    "claude-opus-4-8": _claude(5, 0.50, 25, source=_TRACKED),
    "claude-opus-4-7": _claude(5, 0.50, 25, 2_048, source=_TRACKED),
    "claude-opus-4-6": _claude(5, 0.50, 25, 4_096, source=_TRACKED),
    "claude-opus-4-5": _claude(5, 0.50, 25, 4_096, source=_TRACKED),
    "claude-sonnet-5-5": _claude(2, 0.10, 10),
    "claude-sonnet-5": _claude(2, 0.20, 10),
    "claude-sonnet-4-6": _claude(3, 0.30, 15, source=_TRACKED),
    "claude-sonnet-4-5": _claude(3, 0.30, 15, source=_TRACKED),
    "claude-haiku-5-5": _claude(
        0.10,
        0.01,
        0.50,
        surcharge=Surcharge(above=100_000, input=5.0, output=5.0),
        source=_TRACKED,
    ),
    "claude-haiku-4-5": _claude(1, 0.10, 5, 4_096, source=_TRACKED),
    "gpt-6.2-astra": _gpt(8, 0.40, 40),
    "gpt-6.2-sol": _gpt(2, 0.10, 10, half_day=5.0, source=_OPENAI),
    "gpt-6.1-sol": _gpt(2, 0.10, 10),
    "gpt-6.1-terra": _gpt(1, 0.05, 5),
    "gpt-6-astra": _gpt(10, 1.00, 50),
    "gpt-6-sol": _gpt(2, 0.20, 10),
    "gpt-6-luna": _gpt(0.10, 0.01, 0.50),
    "gemini-3.8-flash": _gemini(0.75, 3.75),
    "gemini-3.7-flash": _gemini(0.75, 3.75),
    "gemini-3.6-flash": _gemini(0.75, 3.75),
    "gemini-3.5-flash": _gemini(1.50, 9.00),
    "gemini-3.5-flash-lite": _gemini(0.30, 2.50),
    "gemini-3.1-pro-preview": _gemini(2.00, 12.00, surcharge=_OVER_200K),
    "gemini-2.5-pro": _gemini(1.25, 10.00, 2_048, surcharge=_OVER_200K),
}
"""The prices of each model by the name that its provider gives it, without a date.

Change it, or add your own models: `PRICES["my-model"] = Prices(...)`. The prices of the Gemini
Flash models from 3.6 on are those until 2026-12-31.
"""

_PLACE: Final = re.compile(
    r"^(?:(?:us|eu|ap|apac|jp|au|ca|sa|global|us-gov)\.)?(?:anthropic|openai|google)\."
)
_ENDING: Final = re.compile(
    r"(?:\[1m\]|:thinking|-latest|[-@]\d{4}-?\d{2}-?\d{2}|@default|-v\d+(?::\d+)?(?::\d+k)?)$"
)


def prices_of(model: str) -> Prices | None:
    """Return the prices of a model from the table.

    The name may have the date or version of a snapshot (``-20260922``, ``-2026-11-17``,
    ``@20260922``, ``-v1:0``, ``-latest``), the prefixes of Amazon Bedrock (``us.anthropic.``, a
    profile's ARN), Vertex AI (``publishers/anthropic/models/``) or a gateway (``openai/``), and
    capital letters. A model with any other name is another model.

    Args:
        model: The name of the model, as it is sent to the provider.

    Returns:
        The prices; None if the table has none.

    Raises:
        InvalidInputError: The name is no text.
    """
    if not isinstance(model, str):
        raise InvalidInputError(f"model: expected a model's name, found {model!r:.80}")
    if model in PRICES:
        return PRICES[model]
    name = _PLACE.sub("", model.strip().lower().rsplit("/", 1)[-1])
    while (shorter := _ENDING.sub("", name)) != name:
        name = shorter
    if name.startswith("claude-"):  # gateways write versions with a dot
        name = name.replace(".", "-")
    return PRICES.get(name)
