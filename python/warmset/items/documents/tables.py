"""Tables of HTML as rows of Markdown, so that a model can read them and they can be cut by rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset.items.documents.blocks import Block
from warmset.items.documents.labels import numbered_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SPAN: Final = 100
"""The most columns or rows that a cell is taken to span."""


@dataclass(slots=True)
class Cell:
    """A cell that is being read.

    Args:
        blocks: What stands in it.
        columns: The columns that it spans.
        rows: The rows that it spans.
    """

    blocks: list[Block] = field(default_factory=list[Block])
    columns: int = 1
    rows: int = 1


@dataclass(slots=True)
class Table:
    """A table that is being read.

    Args:
        outside: Where its blocks go.
        rows: Its rows.
        is_layout: Whether it only arranges others: one with a table in it.
    """

    outside: list[Block]
    rows: list[list[Cell]] = field(default_factory=list[list[Cell]])
    is_layout: bool = False

    def cell(self, columns: int, rows: int) -> list[Block]:
        """Begin a cell, and return where its blocks go."""
        if self.is_layout:
            return self.outside
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(Cell(columns=columns, rows=rows))
        return self.rows[-1][-1].blocks

    def arrange(self) -> list[Block]:
        """Take the table as one that only arranges, and return where its blocks go."""
        if not self.is_layout:
            self.is_layout = True
            self.outside += [block for row in self.rows for cell in row for block in cell.blocks]
            self.rows = []
        return self.outside

    def close(self) -> None:
        """Add what was read."""
        rows = _grid(self.rows)
        used = sorted({at for row in rows for at, text in enumerate(row) if text})
        lines = [[row[at] for at in used if at < len(row)] for row in rows if any(row)]
        if len(used) <= 1:
            self.arrange()
        elif len(lines) == 1 and numbered_rank(" ".join(filter(None, lines[0]))) is not None:
            self.outside.append(Block(text=" ".join(filter(None, lines[0])) + "\n\n"))
        else:
            self.outside.append(_as_markdown(lines))


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Return the texts of cells, each in its column; the other places that it spans are empty."""
    found: list[list[str]] = []
    taken: dict[int, int] = {}  # by column, the first row that no cell above spans
    for at, row in enumerate(rows):
        texts: list[str] = []
        for cell in row:
            while taken.get(len(texts), 0) > at:
                texts.append("")
            if cell.rows > 1:
                spanned = range(len(texts), len(texts) + cell.columns)
                taken.update(dict.fromkeys(spanned, at + cell.rows))
            texts += [_text(cell), *[""] * (cell.columns - 1)]
        found.append(texts)
    return found


def _text(cell: Cell) -> str:
    words = " ".join(" ".join(one.text.split()) for one in cell.blocks)
    return words.replace("|", "\\|")


def _as_markdown(rows: Sequence[Sequence[str]]) -> Block:
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]) + "\n")
    return Block(text="".join(lines) + "\n", kind="table", head="".join(lines[:2]))
