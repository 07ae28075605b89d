"""The work of the modules: they read nothing but the items of their payload."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from warmset.errors import NotFound
from warmset.lab.demo.route.books import FIGURES, YEARS
from warmset.lab.demo.route.filings import stated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from warmset.items import MemoryItem
    from warmset.lab.demo.route.books import Books

_NEWEST: Final = YEARS[-1]
_STEPS: Final = 5
_ASSUMED: Final = re.compile(r"(?P<key>[A-Z][\w -]+): (?P<value>\d+(?:\.\d)?)(?P<unit> percent)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a module has on its desk.

    Args:
        figures: The figures that filings state, by name and year.
        assumed: The user's assumptions by their keys, percentages as fractions.
        outputs: What other modules made.
    """

    figures: Mapping[tuple[str, int], float]
    assumed: Mapping[str, float]
    outputs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, items: Iterable[MemoryItem]) -> Self:
        """Read the items of a payload."""
        figures: dict[tuple[str, int], float] = {}
        assumed: dict[str, float] = {}
        outputs: dict[str, Mapping[str, Any]] = {}
        for one in items:
            if one.memory_type == "document_chunk":
                figures |= stated(one.text)
            elif one.memory_type == "user_context":
                assumed |= assumed_in(one.text)
            elif one.memory_type == "module_output" and one.module_context and one.data:
                outputs[one.module_context] = one.data
        return cls(figures=figures, assumed=assumed, outputs=outputs)

    def figure(self, name: str, year: int = _NEWEST) -> float:
        """Return a figure that a chunk states.

        Raises:
            NotFound: None of the chunks states it.
        """
        if (name, year) not in self.figures:
            raise NotFound(f"no item states {FIGURES[name].label!r} of {year}")
        return self.figures[name, year]

    def assumption(self, key: str) -> float:
        """Return an assumption of the user.

        Raises:
            NotFound: None of the items has it.
        """
        if key not in self.assumed:
            raise NotFound(f"no item has the assumption {key!r}")
        return self.assumed[key]

    def made(self, module: str) -> Mapping[str, Any]:
        """Return the output of a module.

        Raises:
            NotFound: None of the items is one.
        """
        if module not in self.outputs:
            raise NotFound(f"no item is an output of {module!r}")
        return self.outputs[module]


def assumed_in(text: str) -> dict[str, float]:
    """Return the assumption that a text states as a number, by its key; none if it states none."""
    found = _ASSUMED.match(text)
    if found is None:
        return {}
    key = re.sub(r"\W", "_", found["key"].lower())
    return {key: float(found["value"]) / (100 if found["unit"] else 1)}


def _parser(desk: Desk) -> dict[str, Any]:
    names = ("shares_outstanding", "holders")
    read = {name: {str(year): desk.figure(name, year) for year in YEARS} for name in names}
    return {"fiscal_years": list(YEARS), **read}


def _revenue(desk: Desk) -> dict[str, Any]:
    years = [int(year) for year in desk.made("document_parser")["fiscal_years"]]
    names = ("net_sales", "sales_flow", "sales_sensing", "sales_services", "deferred_revenue")
    return {name: {str(year): desk.figure(name, year) for year in years} for name in names}


def _margins(desk: Desk) -> dict[str, Any]:
    margins: dict[str, float] = {}
    for year, sales in desk.made("revenue_extraction")["net_sales"].items():
        costs = ("cost_of_sales", "selling_expense", "research_expense")
        spent = sum(desk.figure(name, int(year)) for name in costs)
        margins[year] = round((sales - spent) / sales, 4)
    return {"operating_margin": margins}


def _debt(desk: Desk) -> dict[str, Any]:
    owed = {name: desk.figure(name) for name in ("term_loan", "notes_2029", "notes_2033")}
    leases, cash = desk.figure("lease_liability"), desk.figure("cash")
    return {
        **owed,
        "lease_liability": leases,
        "cash": cash,
        "interest_expense": desk.figure("interest_expense"),
        "debt": sum(owed.values()),
        "net_debt": sum(owed.values()) + leases - cash,
    }


def _wacc(desk: Desk) -> dict[str, Any]:
    owed = desk.made("debt_schedule")
    cost = owed["interest_expense"] / owed["debt"]
    equity = desk.assumption("risk_free_rate") + desk.assumption("equity_premium")
    return {
        "cost_of_equity": round(equity, 4),
        "cost_of_debt_after_tax": round(cost * (1 - desk.assumption("tax_rate")), 4),
        "floating_rate": round(desk.figure("floating_rate") / 100, 4),
        "effective_tax_rate": round(desk.figure("effective_rate") / 100, 4),
    }


def _dcf(desk: Desk) -> dict[str, Any]:
    """Discount five explicit years, with growth fading to the terminal rate in equal steps."""
    sales = desk.made("revenue_extraction")["net_sales"]
    margins = desk.made("margin_analysis")["operating_margin"].values()
    rate, terminal = desk.assumption("discount_rate"), desk.assumption("terminal_growth")
    level, before = sales[str(_NEWEST)], sales[str(_NEWEST - 1)]
    margin, growth = sum(margins) / len(margins), level / before - 1
    step = (growth - terminal) / _STEPS
    invested = desk.figure("capital_expenditure") - desk.figure("depreciation")
    first = desk.figure("capital_plan") - desk.figure("depreciation")
    tied = desk.figure("working_capital") / level
    value = flow = 0.0
    for year in range(1, _STEPS + 1):
        growth -= step
        spent = first if year == 1 else invested * level / sales[str(_NEWEST)]
        more = level * growth
        level += more
        flow = level * margin * (1 - desk.assumption("tax_rate")) - spent - tied * more
        value += flow / (1 + rate) ** year
    value += flow * (1 + terminal) / (rate - terminal) / (1 + rate) ** _STEPS
    equity = value - desk.made("debt_schedule")["net_debt"]
    return {
        "fiscal_year": int(desk.assumption("fiscal_year")),
        "enterprise_value": round(value),
        "equity_value": round(equity),
        "value_per_share": round(equity / desk.figure("diluted_shares"), 2),
        "discount_rate": rate,
        "cost_of_equity": desk.made("wacc_inputs")["cost_of_equity"],
        "working_capital_growth": desk.figure("working_capital_growth"),
    }


MODULES: Final[Mapping[str, Callable[[Desk], dict[str, Any]]]] = {
    "document_parser": _parser,
    "revenue_extraction": _revenue,
    "margin_analysis": _margins,
    "debt_schedule": _debt,
    "wacc_inputs": _wacc,
    "dcf": _dcf,
}
"""What each module makes of the items of its payload, in the order in which they run."""


def worked_out(books: Books, assumed: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Return what the modules make of the books themselves, without any text.

    Args:
        books: The figures.
        assumed: The assumptions that hold.
    """
    made: dict[str, dict[str, Any]] = {}
    for name, work in MODULES.items():
        made[name] = work(Desk(figures=books.values, assumed=assumed, outputs=made))
    return made
