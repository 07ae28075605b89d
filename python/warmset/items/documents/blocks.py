"""What a document is made of, whatever its format: headings, paragraphs, lists, tables, code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["heading", "text", "list", "table", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One of them; the texts of all blocks, joined, are the document.

    Args:
        text: Its text, with the line ends behind it.
        kind: What it is.
        rank: Of a heading: a section ends where a heading with the same or a lower rank begins.
        title: Of a heading: its words, without marks.
        head: What each part begins with if it is cut: the first row of a table, the fence of code.
            The text begins with it.
        tail: What each part ends with; the text ends with it.
    """

    text: str
    kind: Kind = "text"
    rank: float = 0.0
    title: str = ""
    head: str = ""
    tail: str = ""
