"""The figures as people read them on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.lab.eval import page_reader
from warmset.lab.eval.options import MIDDLE, middle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

_UNDER: Final = (
    "Evidence recall, fraction: the mean part of a question's evidence that is there. @k: among "
    "the first k hits. %: in a window of that part of the conversation's tokens, headers counted, "
    "the question not. full and oracle cost what they cost."
)


def show(figures: Mapping[str, Any], out: Console) -> None:
    """Print figures.

    Args:
        figures: As `warmset.lab.eval.run.measure` returns them.
        out: Where to.
    """
    found: Mapping[str, Any] = figures["retrievers"]
    splits: Mapping[str, Any] = figures.get("splits", {})
    first = next(iter(found.values()))
    keys = list(first["recall"]["fraction"])
    out.print()
    out.print(
        Text.assemble(
            (f"{figures['dataset']}  ", "bold"),
            f"{len(figures['conversations'])} conversations, {figures['questions']} questions; "
            f"{_beside(figures)}",
        )
    )
    out.print(Text(_UNDER, style="dim"))
    out.print()
    for split, part in splits.items() if len(splits) > 1 else ():
        names = f"{part['questions']} questions of {', '.join(part['conversations'])}"
        out.print(Text.assemble((f"{split}  ", "bold"), names))
        out.print(_fractions(part["retrievers"], keys))
        out.print()
    if len(splits) > 1:
        out.print(Text("all", style="bold"))
    out.print(_fractions(found, keys))
    out.print()
    out.print(_others(found, keys))
    out.print()
    out.print(Text("default, by category: fraction, and all of the evidence", style="bold"))
    out.print(_categories(found["default"]["by_category"], keys))
    for name, said in (
        ("default_window", "The window as it is by default (recent turns, scoped index)"),
        ("whole_window", "The question paid out of the budget, shares of the bare messages"),
    ):
        usual = first[name]
        recalls = usual["recall"]
        out.print(
            Text(
                f"{said}, at {MIDDLE:g} %: fraction {_figure(recalls['fraction'])}, "
                f"all {_figure(recalls['all'])}, any {_figure(recalls['any'])}, "
                f"{usual['tokens']:,.0f} tokens."
            )
        )
        if "by_budget" in usual:
            shares = usual["by_budget"].items()
            out.print(Text(", ".join(f"{_head(key)} {_figure(value)}" for key, value in shares)))
    if figures.get("declining", {}).get("unanswerable", {}).get("nothing_quoted"):
        out.print()
        out.print(Text("Questions for which nothing is quoted, of all of a kind", style="bold"))
        out.print(_declining(figures))
    if "reader" in figures:
        reader: Mapping[str, Any] = figures["reader"]
        out.print()
        out.print(Text(f"read by {reader['reader']}, judged by {reader['judge']}", style="bold"))
        made = _table([*page_reader.HEADS[:-2], "wrong", "missed"])
        for row in page_reader.rows(reader):
            made.add_row(*row)
        out.print(made)


def show_needle(figures: Mapping[str, Any], out: Console) -> None:
    """Print the figures of `warmset.lab.eval.needle.needle`."""
    rows: Sequence[Mapping[str, Any]] = figures["rows"]
    out.print()
    out.print(
        Text.assemble(
            ("needle  ", "bold"),
            f"a decision at {figures['depth']:g} % of the conversation, {figures['trials']} "
            f"conversations of each length, {figures['budget']} tokens for recency and jit",
        )
    )
    out.print(
        Text(
            "saved: the part of full's tokens that is not sent, below zero where more is sent. "
            "right: the decision is in the window, so an oracle reader answers.",
            style="dim",
        )
    )
    out.print()
    table = _table(["turns", "full tokens"])
    modes = [mode for mode in rows[0]["modes"] if mode != "full"]
    for mode in modes:
        table.add_column(f"{mode} saved", justify="right")
        table.add_column("right", justify="right")
    for row in rows:
        cells = [f"{row['modes']['full']['tokens']:,.0f}"]
        for mode in modes:
            one = row["modes"][mode]
            cells += [f"{one['saved']:.0%}", f"{one['accuracy']:.0%}"]
        table.add_row(str(row["turns"]), *cells)
    out.print(table)


def _beside(figures: Mapping[str, Any]) -> str:
    """Return what is asked or left out beside the questions with evidence."""
    if "declining" in figures:
        return f"{figures['declining']['unanswerable']['questions']} unanswerable"
    left: Mapping[str, int] = figures["left_out"]
    return (
        f"left out: {left['without_evidence']} without evidence, {left['not_scored']} that are not "
        "scored"
    )


def _declining(figures: Mapping[str, Any]) -> Table:
    """Tabulate where nothing is quoted: right for the unanswerable, a miss for the others."""
    splits: Mapping[str, Any] = figures["splits"]
    keys = list(figures["declining"]["unanswerable"]["nothing_quoted"])
    table = _table(["", "n", *(_head(key) for key in keys)])
    parts = {split: part["declining"] for split, part in splits.items() if len(splits) > 1}
    for split, part in {**parts, "all": figures["declining"]}.items():
        for kind in ("unanswerable", "answerable"):
            one = part[kind]
            shares = [_figure(one["nothing_quoted"][key]) for key in keys if one["questions"]]
            table.add_row(f"{split}, {kind}", str(one["questions"]), *shares)
    return table


def _fractions(found: Mapping[str, Any], keys: Sequence[str]) -> Table:
    table = _table(["", *(_head(key) for key in keys)])
    for name, one in found.items():
        recalls = one["recall"]["fraction"]
        table.add_row(
            name,
            *(_figure(recalls[key]) for key in keys),
            style=_style(name),
        )
    return table


def _others(found: Mapping[str, Any], keys: Sequence[str]) -> Table:
    cut, price = middle(keys)
    heads = [f"{what} {_head(key)}" for what, key in (("all", cut), ("any", price), ("GAC", price))]
    table = _table(["", *heads, f"95 % at {_head(price)}", "tokens", "area", "p50 ms"])
    for name, one in found.items():
        recalls, ends = one["recall"], one["interval"]["fraction"][price]
        table.add_row(
            name,
            _figure(recalls["all"][cut]),
            _figure(recalls["any"][price]),
            _figure(one["gac"][price]),
            "" if ends is None else f"{_figure(ends[0])}-{_figure(ends[1])}",
            f"{one['window_tokens'][price]:,.0f}",
            _figure(one["area"]),
            f"{one['latency_ms']['p50']:.1f}",
            style=_style(name),
        )
    return table


def _categories(found: Mapping[str, Any], keys: Sequence[str]) -> Table:
    table = _table(["", "n", *(_head(key) for key in keys)])
    for name, one in found.items():
        recalls = one["recall"]
        table.add_row(
            name, str(one["questions"]), *(_figure(recalls["fraction"][key]) for key in keys)
        )
        table.add_row("  all", "", *(_figure(recalls["all"][key]) for key in keys), style="dim")
    return table


def _table(heads: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column(heads[0], no_wrap=True)
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _style(name: str) -> str:
    return "bold" if name == "default" else ""


def _head(key: str) -> str:
    return f"@{key[1:]}" if key.startswith("k") else f"{key[1:]}%"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}".removeprefix("0")
