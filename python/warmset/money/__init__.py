"""Money: what a model's tokens cost, and what calls cost by the provider's own figures.

What this package promises:

- A price is never guessed: an unknown model has no price, and a sum names the calls that have none.
- Reading a usage changes nothing of it, and takes SDK objects and dicts alike.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.money.bill import Bill, Money, Totals
    from warmset.money.expected import expected_money
    from warmset.money.prices import Prices, Surcharge, price
    from warmset.money.reading import Metered, Reading, Transformation, read_usage
    from warmset.money.spending import Spending
    from warmset.money.table import PRICES, prices_of

__all__ = [
    "PRICES",
    "Bill",
    "Metered",
    "Money",
    "Prices",
    "Reading",
    "Spending",
    "Surcharge",
    "Totals",
    "Transformation",
    "expected_money",
    "price",
    "prices_of",
    "read_usage",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "bill": ["Bill", "Money", "Totals"],
            "expected": ["expected_money"],
            "prices": ["Prices", "Surcharge", "price"],
            "reading": ["Metered", "Reading", "Transformation", "read_usage"],
            "spending": ["Spending"],
            "table": ["PRICES", "prices_of"],
        },
    )
