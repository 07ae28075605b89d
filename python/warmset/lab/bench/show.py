"""Figures as people read them: a header, a table, and who did not take part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rich import box
from rich.table import Table
from rich.text import Text

from warmset.lab.bench.case import OURS

if TYPE_CHECKING:
    from rich.console import Console

    from warmset.lab.bench.case import Result
    from warmset.lab.bench.run import Report

_THOUSAND: Final = 1_000.0
_TEN: Final = 10.0
_LEGEND: Final = (
    "Times are medians of one call, or means where syncs are part of the price (*). x is a peer's "
    "time divided by warmset's of the same run: above 1, warmset is faster. All results were "
    "checked."
)


def show(report: Report, out: Console) -> None:
    """Print a report.

    Args:
        report: The figures.
        out: Where to.
    """
    for line in header(report.setting):
        out.print(Text(line), soft_wrap=True)
    out.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("case")
    table.add_column("warmset", justify="right", no_wrap=True)
    table.add_column("peers")
    table.add_column("what one call does")
    for one in report.results:
        ours = one.figures[OURS].microseconds
        table.add_row(
            Text(one.name), duration(ours) + ("*" if one.of == "mean" else ""),
            Text(peers(one)), Text(one.what),
        )  # fmt: skip
    out.print(table)
    out.print(Text(_LEGEND))
    for line in remarks(report.results):
        out.print(Text(line))


def header(setting: dict[str, object]) -> list[str]:
    """Return the lines that say where the figures come from."""
    packages = cast("dict[str, str]", setting["packages"])
    core, load = setting["core"], cast("list[float] | None", setting["load"])
    where = "any core" if core is None else f"core {core} alone"
    threads = "" if setting["one_thread"] else ", more than one thread"
    busy = "" if load is None else f", load {load[0]:.1f}"
    there = [f"{name} {one}" for name, one in packages.items() if one != "not installed"]
    return [
        f"warmset {setting['warmset']}, {setting['compiler']}, {setting['simd']}",
        f"{setting['cpu']}; {where}{threads}{busy}",
        f"Python {setting['python']}, {setting['system']}, {setting['disk']}",
        ", ".join([*there, f"SQLite {setting['sqlite']}"]),
    ]


def peers(result: Result) -> str:
    """Return the ratios of a case, one a line."""
    return "\n".join(f"{name} x {ratio(one)}" for name, one in result.ratios.items())


def ratio(value: float) -> str:
    """Return a ratio with two digits, or whole from 100 on."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004


def duration(micros: float) -> str:
    """Return a time in the unit in which it is read best."""
    for unit in ("µs", "ms"):
        if micros < _THOUSAND:
            return f"{micros:.2f} {unit}" if micros < _TEN else f"{micros:.0f} {unit}"
        micros /= _THOUSAND
    return f"{micros:.2f} s"


def remarks(results: tuple[Result, ...]) -> list[str]:
    """Return what to know of contestants, and why some did not take part, each once."""
    said: dict[str, list[str]] = {}
    for one in results:
        for name, note in one.notes.items():
            said.setdefault(f"{name}: {note}", []).append(one.name)
        for name, reason in one.left_out.items():
            said.setdefault(f"without {name}: {reason}", []).append(one.name)
    return [f"{line} ({', '.join(names)})" for line, names in said.items()]
