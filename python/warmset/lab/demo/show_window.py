"""A window as people read it: its parts to scale, and why each quoted turn is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from warmset.lab.demo.marks import shares
from warmset.options import Weights
from warmset.text.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console

    from warmset.lab.demo.marks import Marks
    from warmset.lab.demo.picture import PartView, Pick, Picture

_COLOURS: Final = {
    "system": "blue",
    "pinned": "bright_green",
    "anchor": "cyan",
    "dates": "bright_black",
    "summary": "bright_cyan",
    "memories": "bright_magenta",
    "index": "magenta",
    "retrieved": "green",
    "recent": "yellow",
    "current": "bright_yellow",
    "request": "white",
    "all": "white",
}
_TERMS: Final = {
    "dense": "green",
    "lexical": "yellow",
    "speaker": "magenta",
    "date": "cyan",
    "when": "bright_cyan",
    "number": "bright_magenta",
    "asking": "red",
    "reply": "bright_yellow",
    "near": "bright_blue",
    "session": "blue",
}
_PICKS: Final = 10
"""Quoted turns that are explained one by one."""

_BESIDE: Final = 73
"""Columns of a line of `_why` beside its bar."""

_BARS: Final = (6, 16)
"""Columns of the shortest and the longest bar."""


def show(picture: Picture, out: Console, marks: Marks) -> None:
    """Print one window: its parts, then its quoted turns.

    Args:
        picture: The window.
        out: Where to.
        marks: The signs that are to be used.
    """
    asked = "the last request" if picture.query is None else f'"{printable(picture.query)}"'
    out.print()
    out.print(Text.assemble(("The window for ", "bold"), (asked, "bold cyan")))
    line = f"{picture.tokens:,} of {picture.budget:,} tokens; everything would be {picture.full:,}"
    out.print(Text(line, style="dim"))
    took = picture.picker
    if took is not None:
        about = "about " if took.estimated else ""
        out.print(
            Text(
                f"the picker took {about}{took.tokens:,} tokens and {took.milliseconds:,.0f} ms; "
                f"{picture.net_saved:,} tokens are saved after all",
                style="dim",
            )
        )
    for note in picture.notes:
        out.print(Text(f"note: {note}", style="yellow"))
    _parts(picture, out, marks)
    if picture.picks:
        _picks(picture, out, marks)


def _parts(picture: Picture, out: Console, marks: Marks) -> None:
    out.print()
    widths = shares([float(part.tokens) for part in picture.parts], out.width)
    bar = Text()
    for part, width in zip(picture.parts, widths, strict=True):
        bar.append(marks.block * width, _COLOURS[part.name])
    out.print(bar)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    total = sum(part.tokens for part in picture.parts) or 1
    for part in picture.parts:
        table.add_row(
            Text(f"{marks.square} {part.name}", _COLOURS[part.name]),
            Text(f"{part.tokens:,}"),
            Text(f"{part.tokens / total:.0%}", "dim"),
            _said(part),
        )
    out.print(table)


def _said(part: PartView) -> Text:
    count = len(part.ids)
    plural = {
        "pinned": f"{count} memories, quoted: ",
        "memories": f"{count} memories or turns of other conversations, quoted: ",
        "index": f"{count} turns, a line each: ",
        "retrieved": f"{count} turns, quoted: ",
        "recent": f"{count} messages, verbatim: ",
        "current": f"{count} messages, verbatim: ",
        "all": f"{count} messages, untouched: ",
    }.get(part.name, "")
    one = {
        "pinned": "1 memory, quoted: ",
        "memories": "1 memory, or turn of another conversation, quoted: ",
        "index": "1 turn: ",
        "retrieved": "1 turn, quoted: ",
    }.get(part.name, "")
    text = Text(one if count == 1 else plural, "dim")
    if part.ids:
        text.append(f"#{part.ids[0]} ", "cyan")
    return text.append(printable(part.head))


def _picks(picture: Picture, out: Console, marks: Marks) -> None:
    out.print()
    out.print(Text("Why these turns are quoted", style="bold"))
    formula = Text("score = ", "dim")
    for place, name in enumerate(_TERMS):
        weight = _weight(name)
        formula.append(" + " if place else "", "dim")
        formula.append(name if weight == 1 else f"{weight:g} x {name}", _TERMS[name])
    formula.append(f", and {Weights().decision:g} for a decision", "dim")
    out.print(formula)
    best = max((pick.score or 0.0 for pick in picture.picks), default=0.0)
    # What is known to answer is shown, however far down it stands.
    named = [pick for at, pick in enumerate(picture.picks) if at < _PICKS or pick.evidence]
    for pick in named:
        out.print(_why(pick, best, out.width, marks), no_wrap=True, overflow="ellipsis")
        said = Text(f"{marks.yes} evidence  " if pick.evidence else "", "bold green")
        said.append(f"{printable(pick.who)}: ", "not bold dim default")
        said.append(printable(pick.head), "not bold default")
        said.truncate(out.width - 6, overflow="ellipsis")
        out.print(Padding(said, (0, 0, 0, 6)), no_wrap=True)
    rest = len(picture.picks) - len(named)
    if rest:
        out.print(Text(f"      and {rest} more; --json has all of them", style="dim"))


def _why(pick: Pick, best: float, width: int, marks: Marks) -> Text:
    text = Text(f"#{pick.id:<5}", "cyan")
    text.append(f"{pick.at:%Y-%m-%d %H:%M} ", "dim")
    if pick.score is None:
        return text.append("belongs to a turn that was picked", "dim")
    text.append(f"{pick.score:5.2f} ")
    columns = min(max(width - _BESIDE, _BARS[0]), _BARS[1])
    given = {name: pick.terms.get(name, 0.0) for name in _TERMS}
    gave = [max(_weight(name) * value, 0.0) for name, value in given.items()]
    drawn = max(round(pick.score / best * columns), sum(map(bool, gave))) if best else 0
    for name, part in zip(_TERMS, shares(gave, drawn), strict=True):
        text.append(marks.block * part, _TERMS[name])
    text.append(" " * (columns - drawn))
    for name, value in given.items():
        if value:
            text.append(f" {name} ", "dim").append(_short(value), _TERMS[name])
    return text


def _weight(signal: str) -> float:
    return float(getattr(Weights(), signal))


def _short(value: float) -> str:
    """Write a number of two digits without the zero before its point, and 1 as it is."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}".rstrip("0.")
