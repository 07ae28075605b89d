"""What a log shows as of one moment, and what was copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset._core import Cell, Entry


@dataclass(frozen=True, slots=True)
class View:
    """Cells and lists as of one moment, in the order in which they were asked for.

    Args:
        cells: The newest version of each cell; None for one that is absent.
        lists: The entries of each list.
        tails: The id of the last entry of each list, as `Tail` expects it; 0 for an empty one.
    """

    cells: list[Cell | None]
    lists: list[list[Entry]]
    tails: list[int]


@dataclass(frozen=True, slots=True)
class Copied:
    """How much was copied.

    Args:
        cells: The number of cells.
        entries: The number of entries of lists.
    """

    cells: int
    entries: int
