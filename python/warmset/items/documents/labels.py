"""Headings of annual reports, "PART II" and "Item 7A. Risk", and the labels that headings give."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.items.documents.blocks import Block

LONGEST: Final = 300
"""The most characters of a label; of a longer heading it has the beginning."""

PART: Final = 1.25
ITEM: Final = 1.5
"""Ranks of these headings: below the title of a document, above its sections."""

_WORDS: Final = 12
"""The most words of a heading that ends like a sentence."""

_NUMBERED: Final = re.compile(
    r"(?P<short>P(?:art|ART)\s+(?:[IVX]{1,5}|\d{1,2})|I(?:tem|TEM)\s+\d{1,2}(?:\.\d\d)?[A-Z]?)"
    r"(?!\w)(?P<sign>\s*[.:\u2013\u2014-])?\s*(?P<title>.*)",
    re.DOTALL,
)
_PAGE: Final = re.compile(r"(?:\.{2,}|\s{2,}|\t|…)\s*\d{1,4}\s*$")
_MARKS: Final = "*_ \t\n"


def numbered_rank(text: str) -> float | None:
    """Return the rank of a heading such as "PART II" or "Item 7. Title"; None if it is none.

    A line of a table of contents, which ends in a page number, is none, nor is a sentence that
    begins with these words.

    Args:
        text: A line, or all lines of a paragraph.
    """
    line = text.strip(_MARKS)
    found = None if len(line) > LONGEST else _NUMBERED.match(line)
    if found is None or _PAGE.search(line):
        return None
    title = found["title"]
    if title and not found["sign"] and not title[0].isupper():
        return None
    if title.endswith((".", "!", "?", ":", ";", ",")) and len(title.split()) > _WORDS:
        return None
    return PART if found["short"][0] == "P" else ITEM


def labels_of(title: str) -> tuple[str, ...]:
    """Return what the section under a heading is called.

    Args:
        title: The words of the heading.

    Returns:
        For "ITEM 7. Management's Discussion" these words, "ITEM 7" and "Item 7"; for others the
        words alone. None for a heading without words.
    """
    words = " ".join(title.encode("utf-8", "ignore").decode().split())
    if not words:
        return ()
    found = _NUMBERED.match(words)
    if found is None or numbered_rank(words) is None:
        return (words[:LONGEST].rstrip(),)
    short = found["short"]
    name, number = short.split()
    return tuple(dict.fromkeys((f"{name.capitalize()} {number}", short, words)))


def with_numbered(blocks: Iterable[Block]) -> list[Block]:
    """Make headings of paragraphs such as "Item 7. Title", unless real headings have such words."""
    listed = list(blocks)
    if any(one.kind == "heading" and numbered_rank(one.title) is not None for one in listed):
        return listed
    ranks = [numbered_rank(one.text) if one.kind == "text" else None for one in listed]
    return [
        one
        if rank is None
        else replace(one, kind="heading", rank=rank, title=one.text.strip(_MARKS))
        for one, rank in zip(listed, ranks, strict=True)
    ]
