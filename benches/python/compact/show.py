"""The tables of a race of compactions."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

BESIDE = "compact_context"


def progress(text):
    """Say what goes on: on one line that is overwritten, or line by line where nobody looks."""
    sys.stderr.write(f"\r\033[K{text}" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()


def show(setting, times, facts):
    """Print both tables."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    versions = ", ".join(f"{name} {one}" for name, one in setting["peers"].items())
    console.print(f"{setting['cpu']}; {versions}; commit {setting['commit']}")
    console.print(f"{setting['seconds']} s, load at the end {setting['load at the end']}")
    for one in times:
        console.print(_times(setting, one))
    for source in dict.fromkeys(one["source"] for one in facts):
        console.print(_facts(source, [one["facts"] for one in facts if one["source"] == source]))


def _ms(value):
    return "-" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _times(setting, one):
    seconds = setting["latency"]
    table = Table(title=f"{one['messages']:,} messages, {one['tokens']:,} tokens: ms a call")
    table.add_column("")
    for column in ("p50", "p99", "max", "ratio", "CPU", f"a model of {seconds} s", "model calls",
                   "tokens after", "share", "invalid"):  # fmt: skip
        table.add_column(column, justify="right")
    base = one["ms"][BESIDE]["p50"]
    for name, row in one["ms"].items():
        table.add_row(
            name,
            *(_ms(row[key]) for key in ("p50", "p99", "max")),
            "-" if row["p50"] is None else f"x {row['p50'] / base:,.2f}",
            _ms(row["cpu"]),
            _ms(row["with latency"]),
            str(row["model calls at the wall"]),
            f"{row['tokens after']:,}",
            f"{row['share']:.0%}",
            str(row["invalid"]),
        )
    return table


def _facts(source, rows):
    table = Table(title=f"{source}: planted facts, those whose turn left, what of them can be had")
    table.add_column("")
    for column in ("planted", "stayed", "left", "verbatim", "values", "search", "handle", "any",
                   "share", "task kept", "invalid"):  # fmt: skip
        table.add_column(column, justify="right")
    for name in rows[0]:
        own = [row[name] for row in rows]
        left = sum(row["left"] for row in own)
        cells = [f"{sum(row[key] for row in own):,}" for key in ("planted", "stayed", "left")]
        parts = ("verbatim", "values", "search", "handle", "any")
        cells += [f"{sum(row[key] for row in own) / left:.0%}" for key in parts]
        cells.append(f"{sum(row['share'] for row in own) / len(own):.0%}")
        cells.append(f"{sum(row['task kept'] for row in own)} of {len(own)}")
        table.add_row(name, *cells, str(sum(row["invalid"] for row in own)))
    return table
