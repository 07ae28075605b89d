"""Prints a compaction, and the list of recorded ones, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.messages import text_of
from warmset.text.decisions import summarise
from warmset.text.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from warmset.compact import CompactionResult
    from warmset.items.archive import Episode
    from warmset.messages import Message

_SHOWN: Final = 20
"""The most dropped turns that are listed; the rest is only counted."""

_WIDTH: Final = 60

_WIDE: Final = 80
"""Columns of a terminal from which tables have all of theirs."""

_FIGURES: Final = ("before_tokens", "after_tokens", "dropped", "distilled")
_WORDS: Final = frozenset({"role", "turn", "tenant", "conversation"})
"""Columns that are cut on a narrow terminal; numbers never are."""


def show_compaction(
    made: CompactionResult, given: Sequence[Message], notes: Sequence[str], out: Console
) -> None:
    """Print the statistics of a compaction, and the dropped turns, lowest score first.

    Args:
        made: The compaction.
        given: The input messages.
        notes: Notes about messages that were skipped while reading.
        out: The console.
    """
    stats = made.stats
    for note in notes:
        out.print(note, style="dim")
    out.print(
        f"{stats.before_tokens:,} tokens to {stats.after_tokens:,} of {stats.budget:,}: "
        f"{stats.dropped:,} of {stats.messages:,} messages dropped ({stats.dropped_pct:.1f} %), "
        f"{stats.tokens_pct:.1f} % of the tokens saved",
        style="bold",
    )
    if stats.over_budget:
        out.print("over the budget: what must stay costs more than that", style="red")
    out.print(f"signals: {', '.join(stats.signals)}; vectors: {stats.embedder}")
    for name, why in stats.missing.items():
        out.print(f"without {name}: {why}", style="dim")
    if stats.distilled:
        kinds = ", ".join(f"{count} {kind}" for kind, count in stats.distilled_kinds.items())
        out.print(f"distilled: {stats.distilled} memories ({kinds})")
    if not made.dropped:
        return
    names = ["#", "role", "score", "recency", "similarity", "coverage", "turn"]
    rows: list[list[Text]] = []
    worst = sorted(made.dropped, key=lambda drop: (drop.score, drop.id))[:_SHOWN]
    for drop in worst:
        message, terms = given[drop.id], drop.terms
        numbers = (drop.score, terms.recency, terms.similarity, terms.coverage)
        said = summarise(text_of(message, made.dialect))[:_WIDTH]
        role = str(message.get("role", message.get("type", "")))
        cells = [_plain(f"{number:.2f}") for number in numbers]
        rows.append([_plain(str(drop.id)), _plain(role), *cells, _plain(said)])
    out.print(_table(names, rows, leave={"recency", "similarity", "coverage"}, out=out))
    if len(made.dropped) > len(worst):
        out.print(f"and {len(made.dropped) - len(worst):,} more; --json lists all", style="dim")


def show_history(runs: Sequence[tuple[str, Episode]], out: Console) -> None:
    """Print the recorded runs, oldest first.

    Args:
        runs: Tenant and run.
        out: The console.
    """
    if not runs:
        out.print("no compaction is on record")
        return
    figures = ["tokens", "after", "dropped", "distilled"]
    names = ["#", "when (UTC)", "what", "tenant", "conversation", *figures]
    rows = [
        [
            _plain(str(run.id)),
            _plain(f"{run.at:%Y-%m-%d %H:%M:%S}"),
            _plain(run.what),
            _plain(tenant),
            _plain(run.conversation or ""),
            *(_plain(_number(run.figures.get(name))) for name in _FIGURES),
        ]
        for tenant, run in runs
    ]
    leave = {"what", "tenant", "conversation", "distilled", "dropped"}
    out.print(_table(names, rows, leave=leave, out=out))
    out.print(f"{len(runs):,} on record")


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], *, leave: set[str], out: Console
) -> Table:
    """Make a table whose ids are never cut; a narrow terminal gets fewer columns."""
    narrow = out.width < _WIDE
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    kept = [at for at, name in enumerate(columns) if not (narrow and name in leave)]
    for at in kept:
        name, left = columns[at], columns[at] in _WORDS or columns[at] in {"when (UTC)", "what"}
        ids = max((len(row[at]) for row in rows), default=1) if name == "#" else None
        justify: Literal["left", "right"] = "left" if left else "right"
        table.add_column(name, justify=justify, no_wrap=name not in _WORDS, min_width=ids)
    for row in rows:
        table.add_row(*(row[at] for at in kept))
    return table


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, (int, float)) else "?"


def _plain(text: str) -> Text:
    return Text(printable(text), no_wrap=True, overflow="ellipsis")
