"""The reader's part of the page, and of the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HEADS = ("", "F1", "judge", "recall", "share", "right", "retrieved but wrong", "missed")


def rows(reader: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each mode, under `HEADS`."""
    return [_row(mode, one) for mode, one in reader["modes"].items()]


def section(
    body: Element,
    reader: Mapping[str, Any],
    table: Callable[[Element, Sequence[str], Sequence[Sequence[str]]], None],
) -> None:
    """Append the section.

    Args:
        body: Where to.
        reader: The reader's figures.
        table: Appends a table.
    """
    SubElement(body, "h2").text = "With a reader"
    SubElement(body, "p", {"class": "note"}).text = (
        f"Reader: {reader['reader']}; judge: {reader['judge'] or 'none, F1 of 0.5 counts as right'}"
        f". recency and jit have {reader['percent']:g} % of the conversation, jit as it is by "
        "default; recency-4 has the last four turns. F1 is LoCoMo's official one."
    )
    for mode, one in reader["modes"].items():
        if one["picker_tokens"]:
            SubElement(body, "p", {"class": "note"}).text = (
                f"{mode}: the picker took {one['picker_tokens']:,.0f} tokens a question beside "
                f"that, and fell back to the score {one['fell_back']} times."
            )
    table(body, HEADS, rows(reader))
    for mode, one in reader["modes"].items():
        inside = SubElement(body, "details")
        SubElement(inside, "summary").text = mode
        found = one["by_category"].items()
        table(inside, HEADS, [_row(category, figures) for category, figures in found])
    reported = reader.get("reported")
    if reported is not None:
        SubElement(body, "h3").text = reported["label"].capitalize()
        SubElement(body, "p", {"class": "note"}).text = f"Not the same: {reported['why']}."
        said = [
            [
                row["system"],
                row["measure"],
                ", ".join(f"{k} {v}" for k, v in row["figures"].items()),
            ]
            for row in reported["rows"]
        ]
        table(body, ("", "measure", "figures"), said)


def _listed(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items())


def _row(name: str, one: Mapping[str, Any]) -> list[str]:
    judge = one["judge"]
    verdicts = [str(count) for count in one["verdicts"].values()]
    return [
        name,
        f"{one['f1']:.3f}",
        "" if judge is None else f"{judge:.3f}",
        f"{one['recall']:.3f}",
        f"{one['share']:.1%}",
        *verdicts,
    ]
