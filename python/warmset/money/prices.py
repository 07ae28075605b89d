"""The prices of a model's tokens, with what its prompt cache takes and how long it lasts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from warmset.errors import InvalidInputError

MILLION: Final = 1_000_000

CACHE_MIN: Final = 1_024
"""The shortest prefix, in tokens, that a provider caches where it documents no other one."""

TTL: Final = 300.0
"""Seconds that a cached prefix lives after its last use where none is documented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surcharge:
    """Higher prices for a request whose input is longer than a number of tokens.

    They hold for the whole request, not only for the tokens above the number.

    Args:
        above: The most tokens of input, cached and written ones included, without the surcharge.
        input: The factor of the prices of input, cache reads and cache writes.
        output: The factor of the price of output.

    Raises:
        InvalidInputError: A value is out of its range.
    """

    above: int
    input: float
    output: float

    def __post_init__(self) -> None:
        _whole("above", self.above)
        _price("input", self.input)
        _price("output", self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of a model's tokens, in USD a million tokens, and the rules of its prompt cache.

    Prices relative to each other work as well, with `fresh=1`; what is computed with them is then
    relative, too.

    Args:
        fresh: An input token that is neither read from the prompt cache nor written to it.
        cache_read: An input token that is read from the prompt cache.
        output: A token of the reply, thinking included.
        cache_write: An input token that is written to the cache; None if the provider charges
            written tokens as fresh ones.
        ttl: Seconds that a cached prefix lives after its last use.
        long_cache_write: A token that is written with the longer lifetime; None if there is none.
        long_ttl: Seconds of the longer lifetime; None if there is none.
        cache_min: The shortest prefix in tokens that is cached.
        cache_block: Cached prefixes are multiples of this number of tokens.
        surcharge: Higher prices for long requests; None if there are none.
        as_of: The day for which the prices hold, as an ISO date; empty if not known.
        source: Where the prices are from.

    Raises:
        InvalidInputError: A value is out of its range.
    """

    fresh: float
    cache_read: float
    output: float
    cache_write: float | None = None
    ttl: float = TTL
    long_cache_write: float | None = None
    long_ttl: float | None = None
    cache_min: int = CACHE_MIN
    cache_block: int = 1
    surcharge: Surcharge | None = None
    as_of: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("fresh", "cache_read", "output", "ttl"):
            _price(name, getattr(self, name))
        for name in ("cache_write", "long_cache_write", "long_ttl"):
            if getattr(self, name) is not None:
                _price(name, getattr(self, name))
        if self.cache_read > self.written:
            raise InvalidInputError(
                "cache_read: expected at most the price of a written token "
                f"({self.written}), found {self.cache_read}"
            )
        if (self.long_cache_write is None) != (self.long_ttl is None):
            raise InvalidInputError(
                "long_cache_write, long_ttl: expected both or neither, found "
                f"{self.long_cache_write} and {self.long_ttl}"
            )
        _whole("cache_min", self.cache_min)
        _whole("cache_block", self.cache_block, least=1)
        if self.surcharge is not None and not isinstance(self.surcharge, Surcharge):
            raise InvalidInputError(
                f"surcharge: expected a Surcharge, found {self.surcharge!r:.80}"
            )

    @property
    def written(self) -> float:
        """The price of a token that is written to the cache."""
        return self.fresh if self.cache_write is None else self.cache_write

    def at(self, tokens: int) -> Prices:
        """Return the prices of a request, with the surcharge if it is long enough for it.

        Args:
            tokens: The tokens of its input, cached and written ones included.
        """
        if self.surcharge is None or tokens <= self.surcharge.above:
            return self
        more = self.surcharge
        return replace(
            self,
            fresh=self.fresh * more.input,
            cache_read=self.cache_read * more.input,
            output=self.output * more.output,
            cache_write=None if self.cache_write is None else self.cache_write * more.input,
            long_cache_write=None
            if self.long_cache_write is None
            else self.long_cache_write * more.input,
            surcharge=None,
        )

    def long_lived(self) -> Prices:
        """Return the prices for requests that ask for the cache's longer lifetime.

        Raises:
            InvalidInputError: The model has no longer lifetime.
        """
        if self.long_cache_write is None or self.long_ttl is None:
            raise InvalidInputError(
                "long_lived: these prices have no long_cache_write; give it, with long_ttl"
            )
        return replace(self, cache_write=self.long_cache_write, ttl=self.long_ttl)

    def cacheable(self, tokens: int) -> int:
        """Return how many tokens of a prefix the cache takes: whole blocks, none of a short one.

        Args:
            tokens: The tokens of the prefix.
        """
        return 0 if tokens < self.cache_min else tokens - tokens % self.cache_block

    def pays(self, tokens_saved: int, rewritten: int, calls: int) -> bool:
        """Return whether a shorter list costs less than continuing with the long one.

        It saves tokens in every further call, but the provider must read the rest of the prompt
        again once. That pays if ``tokens_saved * cache_read * calls`` is more than ``rewritten *
        (cache_write - cache_read)``.

        Args:
            tokens_saved: Tokens that it saves in each further call.
            rewritten: Tokens of the prompt from the first change on.
            calls: The expected number of further calls.
        """
        saved = tokens_saved * self.cache_read * calls
        return saved > rewritten * (self.written - self.cache_read)


def price(
    prices: Prices, fresh: int, cached: int, written: int, output: int, *, written_long: int = 0
) -> float:
    """Return what one request costs, in USD.

    Args:
        prices: The model's prices.
        fresh: Tokens of input that are neither read from the cache nor written to it.
        cached: Tokens that are read from the cache.
        written: Tokens that are written to the cache.
        output: Tokens of the reply.
        written_long: Further tokens that are written with the longer lifetime.

    Raises:
        InvalidInputError: A number is negative or not an integer.
    """
    for name, tokens in (
        ("fresh", fresh),
        ("cached", cached),
        ("written", written),
        ("output", output),
        ("written_long", written_long),
    ):
        _whole(name, tokens)
    now = prices.at(fresh + cached + written + written_long)
    long = now.written if now.long_cache_write is None else now.long_cache_write
    return (
        fresh * now.fresh
        + cached * now.cache_read
        + written * now.written
        + written_long * long
        + output * now.output
    ) / MILLION


def check_prices(given: object) -> Prices | None:
    """Check and return prices that a caller passed; None is nobody's.

    Raises:
        InvalidInputError: It is no `Prices`.
    """
    if given is None or isinstance(given, Prices):
        return given
    raise InvalidInputError(
        f"prices: expected Prices, as prices_of(model) returns them, found {given!r:.80}"
    )


def _price(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise InvalidInputError(f"{name}: expected a number of at least 0, found {value!r:.80}")


def _whole(name: str, value: object, *, least: int = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(
            f"{name}: expected an integer of at least {least}, found {value!r:.80}"
        )
