"""The cost table as people read it: one table for each session, at most 100 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.lab.cost.figures import READS
from warmset.lab.cost.play import MODEL
from warmset.money import PRICES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from warmset.lab.cost.figures import CostTable, Row, Session

_NONE: Final = "-"

_WIDE: Final = 90
"""Columns from which the columns of a table stand apart."""

_LEGEND: Final = (
    "facts: facts that were stated early, and were in the list when they were asked for. kept: "
    "thinking that is sent as it was replied, behind an unchanged list, of all that the shown "
    "replies had; since: the same for replies since the list was last made anew. invalid: thinking "
    "that is sent although something before it changed; a provider drops it, or refuses the list. "
    "waits: calls that waited for a summary. With provider compaction, a simulated provider "
    "compacts lists that came near the budget; tokens and money include what it reads and writes "
    "for that. A mode that decides by the prices has its tokens of the first price."
)


def show(table: CostTable, out: Console) -> None:
    """Print it.

    Args:
        table: The figures.
        out: Where to.
    """
    known = PRICES[MODEL]
    out.print()
    out.print(
        Text.assemble(
            ("warmset demo --cost  ", "bold"),
            f"whole sessions, lists of at most {table.budget:,} tokens",
            "; a tenth of their length" if table.quick else "",
        )
    )
    out.print(
        Text(
            "The library makes every list; the prompt cache, the replies and the clock are "
            f"simulated. Prices of {MODEL}: {known.fresh:g} USD a million fresh tokens, "
            f"{known.written:g} written, {known.output:g} output, and a cached read at "
            f"{', '.join(f'{read:g}' for read in READS)} of a fresh token. Tokens in thousands. "
            '"full" is the whole list, without a budget.',
            style="dim",
        )
    )
    out.print(Text(_LEGEND, style="dim"))
    for one in table.sessions:
        _session(one, out)
    _sweep(table.sweep, out)


def _session(one: Session, out: Console) -> None:
    made = _table(out)
    made.add_column("mode", no_wrap=True)
    for name in (
        "fresh",
        "cached",
        "written",
        *_reads(),
        "facts",
        "kept",
        "since",
        "invalid",
        "waits",
    ):
        made.add_column(name, justify="right", no_wrap=True)
    for row in one.rows:
        made.add_row(_name(row), *_tokens(row), *_money(row), *_kept(row))
    out.print()
    out.print(Text(f"{one.name}: {one.calls:,} calls", style="bold"))
    out.print(made)
    for row in one.rows:
        if row.played[0].refused:
            calls = row.played[0].refused
            out.print(Text(f"{row.mode}: {calls:,} calls had no list within the budget", "yellow"))


def _sweep(sessions: Sequence[Session], out: Console) -> None:
    made = _table(out)
    made.add_column("session", no_wrap=True)
    made.add_column("mode", no_wrap=True)
    for name in (*_reads(), "facts", "kept"):
        made.add_column(name, justify="right", no_wrap=True)
    for one in sessions:
        for at, row in enumerate(one.rows):
            made.add_row("" if at else one.name, _name(row), *_money(row), *_kept(row)[:2])
    out.print()
    out.print(Text("The first agent with calls from short to long", style="bold"))
    out.print(made)


def _table(out: Console) -> Table:
    """Make a table whose columns stand closer in a narrow terminal."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    made.padding = (0, int(out.width >= _WIDE), 0, 0)
    return made


def _name(row: Row) -> str:
    """Return the name of a row, the longest one in two lines."""
    return row.mode.replace(" with ", " with\n")


def _reads() -> list[str]:
    return [f"USD\n{read:g}" for read in READS]


def _tokens(row: Row) -> list[str]:
    return [f"{row.played[0].tokens(at) / 1000:,.0f}" for at in range(3)]


def _money(row: Row) -> list[str]:
    return [f"{usd:,.2f}" for usd in row.money]


def _kept(row: Row) -> list[str]:
    one = row.played[0]
    share = f"{one.kept / one.possible:.0%}" if one.possible else _NONE
    since = f"{one.since_kept / one.since_possible:.0%}" if one.since_possible else _NONE
    return [f"{one.found}/{one.asked}", share, since, f"{one.invalid:,}", f"{one.waits:,}"]
