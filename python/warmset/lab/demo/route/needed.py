"""What each task needs, by the one who made up the texts; no specification is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.lab.demo.route.books import YEARS

if TYPE_CHECKING:
    from collections.abc import Mapping

ERROR: Final = "debt_schedule/footnote-mark/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a task needs, whatever a specification says.

    Args:
        query: What it is asked.
        figures: The figures that it reads in filings.
        years: The fiscal years that it reads them for.
        modules: The modules whose outputs it builds on.
        assumptions: The user's assumptions that it uses.
        fixes: The module, or the kind of error, whose known fixes it heeds.
        error: The error that it is about.
    """

    query: str
    figures: tuple[str, ...] = ()
    years: tuple[int, ...] = YEARS
    modules: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    fixes: str = ""
    error: str | None = None


_NEWEST: Final = YEARS[-1:]

TASKS: Final[Mapping[str, Task]] = {
    "document_parser": Task(
        query="Which fiscal years do the annual reports of Tarnwick Controls cover?",
        figures=("shares_outstanding", "holders"),
        fixes="document_parser",
    ),
    "revenue_extraction": Task(
        query="Extract the net sales of Tarnwick Controls by segment for the last three years.",
        figures=("net_sales", "sales_flow", "sales_sensing", "sales_services", "deferred_revenue"),
        modules=("document_parser",),
        assumptions=("fiscal_year", "currency"),
        fixes="revenue_extraction",
    ),
    "margin_analysis": Task(
        query="Compute the operating margin of Tarnwick Controls for the last three years.",
        figures=("cost_of_sales", "selling_expense", "research_expense"),
        modules=("revenue_extraction",),
        fixes="margin_analysis",
    ),
    "debt_schedule": Task(
        query="List what Tarnwick Controls owes at the end of fiscal 2025, with leases and cash.",
        figures=(
            *("term_loan", "notes_2029", "notes_2033", "interest_expense"),
            *("lease_liability", "cash"),
        ),
        years=_NEWEST,
        assumptions=("fiscal_year", "currency"),
        fixes="debt_schedule",
    ),
    "wacc_inputs": Task(
        query="Derive the inputs of the weighted average cost of capital of Tarnwick Controls.",
        figures=("effective_rate", "floating_rate"),
        years=_NEWEST,
        modules=("debt_schedule",),
        assumptions=("risk_free_rate", "equity_premium", "tax_rate"),
        fixes="wacc_inputs",
    ),
    "dcf": Task(
        query="Value a share of Tarnwick Controls by discounted cash flows: sales, margins, "
        "capital expenditures, working capital, terminal growth, net debt and diluted shares.",
        figures=(
            *("capital_expenditure", "capital_plan", "depreciation"),
            *("working_capital", "working_capital_growth", "diluted_shares"),
        ),
        years=_NEWEST,
        modules=("revenue_extraction", "margin_analysis", "debt_schedule", "wacc_inputs"),
        assumptions=("discount_rate", "terminal_growth", "tax_rate", "fiscal_year", "currency"),
        fixes="dcf",
    ),
    "follow_up": Task(
        query="Why did the committee change the terminal growth?",
        assumptions=("terminal_growth",),
    ),
    "error_diagnosis": Task(
        query="Why could the cell '350 (1)' of the maturity table not be converted to a number?",
        fixes="footnote-mark",
        error=ERROR,
    ),
}

ASSUMPTIONS: Final[Mapping[str, str]] = {
    "discount_rate": "Discount rate: 9.0 percent",
    "terminal_growth": "Terminal growth: 3.0 percent",
    "tax_rate": "Tax rate: 24.0 percent",
    "fiscal_year": "Fiscal year: 2025",
    "currency": "Currency: US dollars",
    "risk_free_rate": "Risk-free rate: 4.2 percent",
    "equity_premium": "Equity premium: 5.1 percent",
    "chart_style": "Chart style: grey and blue, no pie charts",
    "report_language": "Report language: simple, for readers who are no analysts",
    "press_tone": "Press tone: sober",
}
CORRECTED: Final = "Terminal growth: 2.5 percent"


def settled() -> dict[str, str]:
    """Return what holds of the user's assumptions, by their keys."""
    return {**ASSUMPTIONS, "terminal_growth": CORRECTED}
