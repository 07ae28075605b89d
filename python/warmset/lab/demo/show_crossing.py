"""A run that crosses its boundary as people read it: the calls at which something happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.lab.demo.reach import HITS
from warmset.lab.demo.show import heading

if TYPE_CHECKING:
    from rich.console import Console

    from warmset.lab.demo.crossing import Run, Step
    from warmset.lab.demo.crossing_figures import Crossing

ROWS: Final = 18
"""Calls that are shown."""


def show(found: Crossing, out: Console) -> None:
    """Print it.

    Args:
        found: What was measured.
        out: Where to.
    """
    calls = len(found.runs[0].steps)
    out.print()
    out.print(
        Text.assemble(
            ("warmset demo --compact  ", "bold"),
            f"{found.name} ({found.kind}): ",
            (f"{found.messages:,} messages, {found.tokens:,} tokens", "bold cyan"),
        )
    )
    out.print(
        Text(
            f"{calls} calls of the model, at most {found.budget:,} tokens each. Simulated "
            f"summariser, {found.latency:,.0f} ms: sentences chosen without a model, that much "
            f"later. A call every {found.pace:,.0f} ms, simulated too; no time is spent waiting "
            "here.",
            style="dim",
        )
    )
    for note in found.notes:
        out.print(Text(f"note: {note}", style="yellow"))
    _calls(found, out)
    _totals(found, out)


def _calls(found: Crossing, out: Console) -> None:
    wall, prepared = found.runs
    heading(
        out,
        "What the calls waited for",
        under=f"At the wall: a summary is begun when the call no longer fits. Prepared: it is "
        f"begun at {found.trigger_tokens:,} tokens, beside the agent, and put in when the call "
        "no longer fits.",
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("call", justify="right", no_wrap=True)
    for name in ("at the wall", "prepared"):
        table.add_column(f"{name}\nwaits", justify="right", no_wrap=True)
        table.add_column("\ntokens", justify="right", no_wrap=True)
        table.add_column("\nfreed", justify="right", no_wrap=True)
    table.add_column("\nstate", no_wrap=True)
    listed = [at for at in range(len(wall.steps)) if _happened(wall, at) or _happened(prepared, at)]
    for at in listed[:ROWS]:
        one, other = wall.steps[at], prepared.steps[at]
        table.add_row(Text(str(at + 1), "dim"), *_cells(one), *_cells(other), Text(_said(other)))
    out.print(table)
    if len(listed) > ROWS:
        out.print(Text(f"and {len(listed) - ROWS} more; --json has every call", style="dim"))


def _happened(run: Run, at: int) -> bool:
    step = run.steps[at]
    changed = at > 0 and run.name == "prepared" and run.steps[at - 1].state != step.state
    cut = step.left_out and not (at and run.steps[at - 1].left_out)
    return bool(step.waited or step.tokens_saved or cut or changed)


def _cells(step: Step) -> list[Text]:
    waits = Text(f"{step.waited * 1000:,.0f} ms", "bold red") if step.waited else Text("-", "dim")
    tokens_saved = (
        Text(f"{step.tokens_saved:,}", "green") if step.tokens_saved else Text("-", "dim")
    )
    return [waits, Text(f"{step.tokens:,}"), tokens_saved]


def _said(step: Step) -> str:
    return f"{step.state}, {step.left_out} left out" if step.left_out else step.state


def _totals(found: Crossing, out: Console) -> None:
    wall, prepared = found.runs
    heading(out, "In all")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    for run in found.runs:
        table.add_column(run.name, justify="right", no_wrap=True)

    def both(name: str, said: list[str]) -> None:
        table.add_row(Text(name), *map(Text, said))

    runs = (wall, prepared)
    both("longest wait of a call, simulated", [f"{r.longest * 1000:,.0f} ms" for r in runs])
    both("all waits together, simulated", [f"{r.waited * 1000:,.0f} ms" for r in runs])
    both("longest time for a window itself, measured", [f"{r.own * 1000:,.1f} ms" for r in runs])
    both("tokens sent in all", [f"{r.tokens:,}" for r in runs])
    both(
        "expected from the prefix cache",
        [f"{r.cached:,} ({r.cached / r.tokens:.0%})" for r in runs],
    )
    both("expected to be read anew", [f"{r.tokens - r.cached:,}" for r in runs])
    both("summaries written, put in", [f"{r.written}, {r.applied}" for r in runs])
    both("calls with messages left out instead", [f"{r.left_out}" for r in runs])
    if wall.reach is not None and prepared.reach is not None:
        one, two = wall.reach, prepared.reach
        both("answers whose messages are evicted", [f"{r.evicted}" for r in (one, two)])
        both("  in the window all the same", [f"{r.window}" for r in (one, two)])
        both(
            f"  among the first {HITS} hits of a search",
            [_or_none(one.search), _or_none(two.search)],
        )
        both("  by handle, as they were", [_or_none(r.handle) for r in (one, two)])
    out.print(table)
    if wall.reach is not None:
        out.print(
            Text(
                "Searched by words alone. A list that is summarised in place has nothing to "
                "search; warmset keeps every message, whenever it compacts.",
                style="dim",
            )
        )


def _or_none(count: int | None) -> str:
    return "-" if count is None else str(count)
