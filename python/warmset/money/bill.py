"""What a call is expected to cost, what it cost, and what the calls of a conversation cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warmset.money.prices import price
from warmset.money.reading import read_usage
from warmset.money.table import prices_of

if TYPE_CHECKING:
    from warmset.money.prices import Prices
    from warmset.money.reading import Metered, Transformation
    from warmset.money.spending import Spending


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a call took, by the provider's own figures.

    Args:
        fresh: Tokens of input that were neither read from the cache nor written to it.
        cached: Tokens that were read from the cache.
        written: Tokens that were written to the cache.
        output: Tokens of the reply, thinking included.
        price: What the call cost, in USD, output included; None if a price is not known.
        missed: Tokens that were expected in the cache and were not read from it; negative if more
            were read than expected.
        difference: What the input cost more than expected, in USD; None if a price is not known.
        transformations: The blocks of thinking or reasoning of the input that failed a check.
    """

    fresh: int
    cached: int
    written: int
    output: int
    price: float | None
    missed: int
    difference: float | None
    transformations: tuple[Transformation, ...] = ()

    @property
    def dropped(self) -> tuple[Transformation, ...]:
        """The blocks of thinking or reasoning that the model did not get."""
        return tuple(one for one in self.transformations if one.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What the settled calls of a conversation took together.

    Args:
        calls: The number of settled calls.
        fresh: Tokens of input that were neither read from the cache nor written to it.
        cached: Tokens that were read from the cache.
        written: Tokens that were written to the cache.
        output: Tokens of the replies, thinking included.
        price: What the calls with a known price cost, in USD.
        unpriced: The number of calls without a known price.
        dropped: The number of blocks of thinking or reasoning that the provider left out.
    """

    calls: int = 0
    fresh: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    price: float = 0.0
    unpriced: int = 0
    dropped: int = 0

    def plus(self, bill: Bill) -> Totals:
        """Return the sum with one more call."""
        return Totals(
            calls=self.calls + 1,
            fresh=self.fresh + bill.fresh,
            cached=self.cached + bill.cached,
            written=self.written + bill.written,
            output=self.output + bill.output,
            price=self.price + (bill.price or 0.0),
            unpriced=self.unpriced + (bill.price is None),
            dropped=self.dropped + len(bill.dropped),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """The tokens of a call's input by what they cost, and the price that is expected.

    Args:
        fresh: Tokens that are expected to be neither read from the cache nor written to it.
        cached: Tokens that are expected to be read from the provider's prompt cache.
        written: Tokens that are expected to be written to it.
        price: The price of the input, in USD; None if the model's prices are not known.
        actual: What the call took by the provider's figures; None until `Window.settle`.
    """

    fresh: int
    cached: int
    written: int
    price: float | None = None
    actual: Bill | None = field(default=None, init=False, compare=False)
    _prices: Prices | None = field(default=None, repr=False, compare=False)
    _spending: Spending | None = field(default=None, repr=False, compare=False)

    def settle(self, usage: object) -> Bill:
        """Record what the call took; see `Window.settle`.

        Raises:
            InvalidInputError: It is no usage of a provider's, and no response that has one.
        """
        bill = self._bill(usage)
        object.__setattr__(self, "actual", bill)  # it comes later
        if self._spending is not None:
            self._spending.add(bill)
        return bill

    def _bill(self, usage: object) -> Bill:
        found = read_usage(usage)
        prices = self._prices or (prices_of(found.model) if found.model else None)

        def cost(one: Metered, output: int) -> float | None:
            other = one.model and one.model != found.model
            rates = prices_of(one.model) if other else prices
            if rates is None:
                return None
            return price(
                rates, one.fresh, one.cached, one.written, output, written_long=one.written_long
            )

        first = found.requests[0]
        given = cost(first, 0)
        costs = [cost(one, one.output) for one in found.requests]
        known = [one for one in costs if one is not None]
        return Bill(
            fresh=sum(one.fresh for one in found.requests),
            cached=sum(one.cached for one in found.requests),
            written=sum(one.written + one.written_long for one in found.requests),
            output=sum(one.output for one in found.requests),
            price=sum(known) if len(known) == len(costs) else None,
            missed=self.cached - first.cached,
            difference=None if given is None or self.price is None else given - self.price,
            transformations=found.transformations,
        )
