"""The books of made-up companies: every figure that a filing states, for three years."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

YEARS: Final = (2023, 2024, 2025)

Unit: TypeAlias = Literal["money", "shares", "percent", "count"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A kind of figure.

    Args:
        label: The words that stand before it in a sentence.
        unit: "money" and "shares" are counted in millions.
    """

    label: str
    unit: Unit

    def written(self, value: float) -> str:
        """Return a value as it stands in a sentence."""
        match self.unit:
            case "money":
                return f"${value:,.0f} million"
            case "shares":
                return f"{value:.1f} million shares"
            case "percent":
                return f"{value:.1f} percent"
            case "count":
                return f"{value:,.0f}"


FIGURES: Final[Mapping[str, Figure]] = {
    "shares_outstanding": Figure("Common shares outstanding", "shares"),
    "holders": Figure("Holders of record", "count"),
    "net_sales": Figure("Net sales", "money"),
    "sales_flow": Figure("Sales of Flow Control", "money"),
    "sales_sensing": Figure("Sales of Sensing", "money"),
    "sales_services": Figure("Sales of Field Services", "money"),
    "deferred_revenue": Figure("Deferred revenue", "money"),
    "cost_of_sales": Figure("Cost of sales", "money"),
    "selling_expense": Figure("Selling and administrative expenses", "money"),
    "research_expense": Figure("Research and development expenses", "money"),
    "cash": Figure("Cash and cash equivalents", "money"),
    "capital_expenditure": Figure("Capital expenditures", "money"),
    "capital_plan": Figure("Capital expenditures planned for the following year", "money"),
    "depreciation": Figure("Depreciation and amortisation", "money"),
    "working_capital": Figure("Net working capital", "money"),
    "working_capital_growth": Figure("The increase in net working capital", "money"),
    "floating_rate": Figure("The average rate of floating debt", "percent"),
    "term_loan": Figure("Borrowings under the term loan", "money"),
    "notes_2029": Figure("Senior notes due 2029", "money"),
    "notes_2033": Figure("Senior notes due 2033", "money"),
    "interest_expense": Figure("Interest expense", "money"),
    "lease_liability": Figure("Lease liabilities", "money"),
    "effective_rate": Figure("The effective tax rate", "percent"),
    "diluted_shares": Figure("Diluted shares", "shares"),
}


@dataclass(frozen=True, slots=True)
class Books:
    """The figures of a company.

    Args:
        company: Its name.
        values: A value for each name in `FIGURES` and each of `YEARS`.
    """

    company: str
    values: Mapping[tuple[str, int], float]

    def __getitem__(self, of: tuple[str, int]) -> float:
        return self.values[of]

    def written(self, name: str, year: int) -> str:
        """Return a figure as it stands in a sentence."""
        return FIGURES[name].written(self.values[name, year])


def books_of(company: str, seed: int) -> Books:
    """Make up the books of a company.

    Args:
        company: Its name.
        seed: The same seed gives the same figures.
    """
    rng = Random(f"{seed}/{company}/books")  # noqa: S311 - no secret
    values: dict[tuple[str, int], float] = {}
    sales = {
        "sales_flow": rng.randrange(1_050, 1_250),
        "sales_sensing": rng.randrange(620, 760),
        "sales_services": rng.randrange(330, 420),
    }
    capital = rng.randrange(300, 340)
    for year in YEARS:
        made: dict[str, float] = {}
        sales = {name: round(one * rng.uniform(1.03, 1.09)) for name, one in sales.items()}
        made |= sales
        total = made["net_sales"] = sum(sales.values())
        shares = {
            "deferred_revenue": (0.03, 0.04),
            "cost_of_sales": (0.60, 0.62),
            "selling_expense": (0.15, 0.165),
            "research_expense": (0.045, 0.055),
            "cash": (0.08, 0.11),
            "capital_expenditure": (0.038, 0.046),
            "capital_plan": (0.04, 0.048),
            "depreciation": (0.034, 0.039),
            "lease_liability": (0.05, 0.06),
        }
        made |= {name: round(total * rng.uniform(*part)) for name, part in shares.items()}
        growth = rng.randrange(9, 24)
        capital += growth
        made |= {"working_capital": capital, "working_capital_growth": growth}
        made |= {"term_loan": 260 - 20 * (year - YEARS[0]), "notes_2029": 350, "notes_2033": 300}
        made["floating_rate"] = round(rng.uniform(5.6, 6.8), 1)
        borrowed = made["term_loan"] + made["notes_2029"] + made["notes_2033"]
        made["interest_expense"] = round(borrowed * rng.uniform(0.049, 0.056))
        made["effective_rate"] = round(rng.uniform(22.0, 24.9), 1)
        made["shares_outstanding"] = round(rng.uniform(60.0, 62.0), 1)
        made["diluted_shares"] = round(made["shares_outstanding"] + rng.uniform(0.8, 1.9), 1)
        made["holders"] = rng.randrange(2_100, 2_900)
        values |= {(name, year): value for name, value in made.items()}
    return Books(company, values)
