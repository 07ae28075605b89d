"""Figures as people read them: at most 100 columns, plain text where the output is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warmset.lab.demo import show_window
from warmset.lab.demo.marks import Marks
from warmset.text.terminal import printable

if TYPE_CHECKING:
    from warmset.lab.demo.compare import Method, Outcome
    from warmset.lab.demo.figures import Figures

WIDTH: Final = 100
_BESIDE: Final = 66
"""Columns of the table of methods beside its dots, one a question."""

_WIDE: Final = 72
"""Columns of a terminal from which the table of methods has bars and long headings."""


def console(file: TextIO) -> Console:
    """Make a console that is at most 100 columns wide and does not colour words by itself."""
    made = Console(file=file, highlight=False, emoji=False, markup=False)
    made.width = min(made.width, WIDTH)
    return made


def show(figures: Figures, out: Console) -> None:
    """Print figures.

    Args:
        figures: What was measured.
        out: Where to.
    """
    marks = Marks.of(out)
    _opening(figures, out)
    if figures.methods:
        _methods(figures, out, marks)
        _questions(figures, out, marks)
    for picture in figures.pictures:
        show_window.show(picture, out, marks)


def heading(out: Console, title: str, *, under: str = "") -> None:
    """Print a section's title, and a line that says how to read it."""
    out.print()
    out.print(Text(title, style="bold"))
    if under:
        out.print(Text(under, style="dim"))
    out.print()


def _opening(figures: Figures, out: Console) -> None:
    seconds = figures.seconds
    if figures.embedder == "lexical":
        how = "searched by words alone"
    else:
        how = f"embedded in {seconds['embed']:.1f} s by {figures.embedder}"
    out.print()
    out.print(
        Text.assemble(
            ("warmset demo  ", "bold"),
            f"{printable(figures.name)} ({figures.kind}): ",
            (f"{figures.messages:,} messages, {figures.tokens:,} tokens", "bold cyan"),
        )
    )
    out.print(Text(f"kept durably in {seconds['keep']:.1f} s, {how}", style="dim"))
    for note in figures.notes:
        out.print(Text(f"note: {note}", style="yellow"))


def _methods(figures: Figures, out: Console, marks: Marks) -> None:
    asked = len(figures.questions)
    share = figures.budget / figures.tokens
    heading(
        out,
        f"{asked} questions, windows of at most {figures.budget:,} tokens ({share:.1%} of all)",
        under="Found: every message that answers the question is in the window, verbatim or quoted."
        " System prompt, task, question and headers count. Plain BM25, plain dense and jit fill"
        " the same block; only the ranking differs.",
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    narrow = out.width < _WIDE
    table.add_column("method", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("share" if narrow else "share of full", no_wrap=True)
    table.add_column("found" if narrow else "evidence found", no_wrap=True)
    if figures.several:
        table.add_column("recall", justify="right", no_wrap=True)
    for method in figures.methods:
        part = figures.share(method)
        row = [
            Text(method.name),
            Text(f"{method.tokens:,.0f}"),
            Text.assemble(f"{part:6.1%}", ("" if narrow else " " + marks.bar(part, 12), "blue")),
            _found(method, asked, marks, room=out.width - _BESIDE),
        ]
        if figures.several:
            row.append(Text(f"{method.recall:.1%}"))
        table.add_row(*row, style="bold" if method.name == "jit" else "")
    out.print(table)
    if figures.several:
        out.print(
            Text("recall: the mean part of a question's evidence that is in the window", "dim")
        )


def _found(method: Method, asked: int, marks: Marks, *, room: int) -> Text:
    text = Text(f"{method.found:>{len(str(asked))}} of {asked}")
    if asked <= room:
        text.append("  ")
        for outcome in method.outcomes:
            text.append(marks.dot(found=outcome.found), "green" if outcome.found else "red dim")
    return text


def _questions(figures: Figures, out: Console, marks: Marks) -> None:
    heading(out, "Which windows had the evidence")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("question", ratio=1)
    methods = [method for method in figures.methods if method.name != "full"]
    for method in methods:
        table.add_column(method.name.removeprefix("plain "), justify="center", no_wrap=True)
    for at, question in enumerate(figures.questions):
        needed = len(figures.evidence[at])
        cells = [_verdict(method.outcomes[at], needed, marks) for method in methods]
        table.add_row(Text(str(at + 1), "dim"), Text(printable(question.text)), *cells)
    out.print(table)


def _verdict(outcome: Outcome, needed: int, marks: Marks) -> Text:
    if outcome.found:
        return Text(marks.yes, "bold green")
    if outcome.recall:
        return Text(f"{round(outcome.recall * needed)}/{needed}", "yellow")
    return Text(marks.no, "red dim")
