"""The signs of the output, and replacements for terminals without Unicode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class Marks:
    """Signs, each one column wide.

    Args:
        yes: Found.
        no: Not found.
        full: A dot that is filled.
        empty: A dot that is not.
        block: A piece of a bar.
        square: The key of a colour.
    """

    yes: str
    no: str
    full: str
    empty: str
    block: str
    square: str

    @classmethod
    def of(cls, console: Console) -> Self:
        """Return the signs that a console can show."""
        if console.options.ascii_only:
            return cls("+", "-", "o", ".", "#", "*")
        return cls("✓", "·", "●", "○", "█", "■")

    def dot(self, *, found: bool) -> str:
        """Return a dot."""
        return self.full if found else self.empty

    def bar(self, part: float, width: int) -> str:
        """Return a bar of up to that many columns; what is more than nothing is seen."""
        return self.block * (max(1, round(part * width)) if part > 0 else 0)


def shares(parts: list[float], width: int) -> list[int]:
    """Part a width in proportion, to the column; every part that is more than nothing is seen.

    Args:
        parts: Sizes, none negative.
        width: Columns to give away, at least one a part.

    Returns:
        Columns, which add up to the width if any part is more than nothing.
    """
    total = sum(parts)
    if not total:
        return [0] * len(parts)
    columns = [max(1, round(part / total * width)) if part else 0 for part in parts]
    while (over := sum(columns) - width) != 0:
        largest = columns.index(max(columns))
        columns[largest] -= 1 if over > 0 else -1
    return columns
