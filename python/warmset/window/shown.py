"""How a window and its report show themselves: in one line, as a table, as plain JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset._support.shown import table

if TYPE_CHECKING:
    from warmset.money import Money
    from warmset.window.result import Report, Window


def window_line(window: Window) -> str:
    """Describe a window without a text of its messages."""
    parts = ", ".join(part.name for part in window.parts)
    return (
        f"Window({len(window)} messages, {window.tokens:,} of {window.budget:,} tokens, "
        f"{window.dialect}: {parts})"
    )


def window_table(window: Window) -> str:
    """Show the parts of a window with their tokens."""
    rows = [(part.name, f"{part.tokens:,}", f"{len(part.ids):,}") for part in window.parts]
    return table(window_line(window), ("part", "tokens", "turns"), rows)


def report_line(report: Report) -> str:
    """Describe a report in a line."""
    return (
        f"Report(mode={report.mode!r}, active={report.active}, "
        f"{report.turns_sent:,} of {report.turns_in:,} turns, "
        f"{report.tokens_sent:,} of {report.tokens_in:,} tokens, {report.saved:.1%} saved, "
        f"{len(report.picked):,} picked, {len(report.notes)} notes)"
    )


def _unused(report: Report) -> str:
    return f"{report.unused:,}" + (f" ({report.unused_why})" if report.unused_why else "")


def money_line(money: Money) -> str:
    """Describe what an input is expected to cost in a line."""
    tokens = f"{money.fresh:,} fresh, {money.cached:,} cached, {money.written:,} written"
    return f"{tokens}; " + ("no price" if money.price is None else f"{money.price:.4f} USD")


def report_table(report: Report) -> str:
    """Show the figures and the notes of a report."""
    rows: list[tuple[str, object]] = [
        ("mode", report.mode),
        ("turns in, sent", f"{report.turns_in:,}, {report.turns_sent:,}"),
        ("tokens in, sent", f"{report.tokens_in:,}, {report.tokens_sent:,}"),
        ("saved", f"{report.saved:.1%}"),
        ("cached", f"{report.cached:,}"),
        ("unused", _unused(report)),
        ("expected price", money_line(report.money)),
        ("searched by", report.searched_by or ""),
        ("picked by", report.picked_by or ""),
        ("picked", " ".join(map(str, report.picked))),
        ("memories", " ".join(one.memory_id for one in report.memories if one.shown)),
        ("pending", report.pending),
        ("milliseconds", f"{report.milliseconds:.1f}"),
        *(("note", note) for note in report.notes),
    ]
    return table(report_line(report), ("figure", "value"), rows)
