"""The demo of the router as people read it: at most 100 columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.lab.demo.route.compare import specs
from warmset.lab.demo.route.figures import LEAST, MOST, TASK
from warmset.lab.demo.route.needed import TASKS
from warmset.lab.demo.show import heading

if TYPE_CHECKING:
    from rich.console import Console

    from warmset.lab.demo.route.compare import Compared, Context
    from warmset.lab.demo.route.figures import Figures

_WAYS: Final = {"router": "router", "similarity": "similar", "everything": "all"}
"""Ways, with short headings."""


def show(found: Figures, out: Console) -> None:
    """Print it.

    Args:
        found: What was measured.
        out: Where to.
    """
    out.print()
    out.print(
        Text.assemble(
            ("warmset demo --route  ", "bold"),
            f"{found.filings} made-up annual reports of {found.company}: ",
            (f"{found.chunks:,} chunks, {found.tokens:,} tokens", "bold cyan"),
        )
    )
    seconds = found.seconds
    out.print(
        Text(
            f"put in {seconds['put']:.1f} s, routed and compared in {seconds['compare']:.1f} s; "
            "searched by words alone, without a model",
            style="dim",
        )
    )
    _tasks(found, out)
    _payload(found.valuation, out)
    _kinds(found, out)
    _end(found, out)


def _tasks(found: Figures, out: Console) -> None:
    heading(
        out,
        f"{len(found.tasks)} tasks, each context made in three ways",
        under="Router: by the task's specification. Similar: what is most similar to the request, "
        "as far as the same budget goes. All: everything that the tenant has. Found: how much of "
        "what the task needs is in the context, which is known since the texts are generated. "
        "Stray: all else that is in it.",
    )
    table = _table(gap=0)
    table.add_column("\ntask", no_wrap=True)
    for way in _WAYS.values():
        table.add_column(f"{way}\ntokens", justify="right", no_wrap=True)
        table.add_column("\nfound", justify="right", no_wrap=True)
        table.add_column("\nstray", justify="right", no_wrap=True)
    for one in found.tasks:
        cells = [cell for context in one.contexts for cell in _cells(context, len(one.needed))]
        table.add_row(Text(one.task), *cells, style="bold" if one.task == TASK else "")
    out.print(table)


def _cells(context: Context, needed: int) -> list[Text]:
    whole = context.found == needed
    return [
        Text(f"{context.tokens:,}"),
        Text(f"{context.found}/{needed}", "green" if whole else "red"),
        Text(f"{len(context.stray):,}", "red" if context.stray else "green"),
    ]


def _payload(one: Compared, out: Console) -> None:
    payload = one.payload
    heading(
        out,
        f"The payload of {one.task}: {payload.total_tokens:,} of {one.budget:,} tokens",
        under=f"Asked: {TASKS[one.task].query}",
    )
    table = _table()
    table.add_column("item", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("for the task", no_wrap=True)
    table.add_column("by need", no_wrap=True)
    needs = specs()[one.task].required_memory
    for item in payload.context_payload:
        by = ", ".join(f"{number}: {needs[number].type}" for number in item.needs)
        table.add_row(*map(Text, (item.memory_id, f"{item.tokens:,}", item.classification, by)))
    out.print(table)
    out.print()
    counts = Counter((item.classification, item.reason) for item in payload.excluded)
    left = _table()
    left.add_column("left out", justify="right", no_wrap=True)
    left.add_column("for the task", no_wrap=True)
    left.add_column("why", ratio=1)
    for (classification, reason), count in counts.most_common():
        left.add_row(Text(f"{count:,}"), Text(classification), Text(reason))
    out.print(left)


def _kinds(found: Figures, out: Console) -> None:
    heading(
        out,
        f"What {TASK} does not need, by whose it is",
        under="What another tenant has under the same names is in none of them.",
    )
    table = _table()
    table.add_column("stray items", no_wrap=True)
    for way in _WAYS:
        table.add_column(way, justify="right", no_wrap=True)
    for kind in found.kinds["everything"]:
        counts = [found.kinds[way].get(kind, 0) for way in _WAYS]
        table.add_row(Text(kind), *(Text(f"{count:,}", _style(count)) for count in counts))
    out.print(table)


def _style(count: int) -> str:
    return "" if count else "dim"


def _end(found: Figures, out: Console) -> None:
    one = found.valuation
    out.print()
    out.print(
        Text.assemble(
            f"A share is worth {found.value:.2f} by the {len(one.router.items)} items of the "
            f"payload, and {found.known:.2f} by the books that the texts were generated from.",
        )
    )
    if not found.broken:
        out.print(
            Text(
                f"{TASK} has exactly what it needs, in less than {MOST:,} tokens where everything "
                f"has more than {LEAST:,}.",
                "bold green",
            )
        )
    for fault in found.broken:
        out.print(Text(f"{TASK}: {fault}", "bold red"))


def _table(gap: int = 1) -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        header_style="dim",
        padding=(0, gap, 0, 0),
    )
