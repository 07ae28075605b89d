"""Plain text as blocks: paragraphs between blank lines, and lines that are headings.

Without marks a heading is a guess, so it is a careful one: "PART II" and "Item 7. Title", lines
that are underlined, and short lines in capitals or title case that stand alone above prose.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from warmset.items.documents.blocks import Block, Kind
from warmset.items.documents.labels import numbered_rank

_CAPITALS: Final = 6.0
_NUMBERED: Final = 7.0
_TITLE: Final = 8.0
_SHORT: Final = 80
"""The most characters of a heading without marks."""

_LINES: Final = 3
"""The most lines of a heading."""

_COLUMNS: Final = 0.7
"""The share of lines with columns that makes a paragraph a table."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBER: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+(?=\S)")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_ITEM: Final = re.compile(r"\s*(?:[-*+•‣·]|\(?\w{1,3}[.)])\s")
_GAP: Final = re.compile(r"\S(?: {3,}|\t+| +\| +)\S")
_RULE: Final = re.compile(r"[\s=_|+-]+")
_SENTENCE: Final = re.compile(r"[.!?…。:;]\W*(?:\s|$)")


class _Paragraph(NamedTuple):
    lines: list[str]
    behind: str  # blank lines

    @property
    def text(self) -> str:
        return "".join(self.lines)


def plain_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a plain text whose lines end in "\n"."""
    blocks: list[Block] = []
    paragraphs = _paragraphs(text)
    ranks = _alone(paragraphs)
    for one, rank in zip(paragraphs, ranks, strict=True):
        if rank is not None:
            title = "".join(line for line in one.lines if not _RULE.fullmatch(line))
            blocks.append(_heading(one.text + one.behind, title, rank))
            continue
        above, body = _headed(one.lines)
        blocks += [_heading(line, line, numbered_rank(line) or 0.0) for line in above]
        if body:
            blocks.append(_body(body, one.behind))
        elif one.behind:
            last = blocks[-1]
            blocks[-1] = _heading(last.text + one.behind, last.title, last.rank)
    return blocks


def _paragraphs(text: str) -> list[_Paragraph]:
    """Part a text at its blank lines; those at its beginning are left out."""
    found: list[tuple[list[str], list[str]]] = []
    for line in _LINE.findall(text):
        if line.strip():
            if not found or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
    return [_Paragraph(lines, "".join(behind)) for lines, behind in found]


def _alone(paragraphs: list[_Paragraph]) -> list[float | None]:
    """Return the rank of each paragraph that is a heading as a whole, None for the others."""
    ranks: list[float | None] = [None] * len(paragraphs)
    below: float | None = None  # of the paragraph that follows
    is_prose = False
    for at in reversed(range(len(paragraphs))):
        one = paragraphs[at]
        rank, is_sure = _rank(one)
        if rank is not None and (is_sure or is_prose or (below is not None and below > rank)):
            ranks[at] = rank
        below = ranks[at]
        is_prose = below is None and _is_prose(one)
    return ranks


def _rank(one: _Paragraph) -> tuple[float | None, bool]:
    """Return the rank that a paragraph would have as a heading, and whether it surely is one."""
    line = one.lines[0].strip()
    if len(one.lines) == 2 and _is_underline(one.lines[1]) and len(line) <= _SHORT:  # noqa: PLR2004
        return (1.0 if "=" in one.lines[1] else 2.0), True
    if numbered_rank(line) is not None and _is_one_heading(one.lines):
        return numbered_rank(one.text), True
    is_one = len(one.lines) == 1 and len(line) <= _SHORT
    return (_guessed(line) if is_one else None), False


def _guessed(line: str) -> float | None:
    """Return the rank that a line without marks would have as a heading."""
    if line.endswith((".", "!", "?", ":", ";", ",")):
        return None
    number = _NUMBER.match(line)
    words = line[number.end() :] if number else line
    long = _WORD.findall(words)
    if not words[0].isupper() or not long or _GAP.search(line):
        return None
    if number:
        return _NUMBERED + number[1].count(".") / 10 if long[0][0].isupper() else None
    if words.isupper():
        return _CAPITALS
    return _TITLE if all(word[0].isupper() for word in long) else None


def _is_underline(line: str) -> bool:
    mark = line.strip()
    return len(mark) > 2 and set(mark) in ({"="}, {"-"})  # noqa: PLR2004


def _is_prose(one: _Paragraph) -> bool:
    """Return whether a paragraph is what headings stand above."""
    text = one.text
    return len(text) > _SHORT or (" " in text.strip() and bool(_SENTENCE.search(text)))


def _is_one_heading(lines: list[str]) -> bool:
    """Return whether lines, the first of which is a heading, are all of it."""
    text = "".join(lines)
    return (
        len(lines) <= _LINES
        and not text.rstrip().endswith(".")
        and numbered_rank(text) is not None
        and all(numbered_rank(line) is None for line in lines[1:])
    )


def _headed(lines: list[str]) -> tuple[list[str], list[str]]:
    """Part the headings at the beginning of a paragraph from what follows.

    Lines that all look like headings of one rank are a table of contents.
    """
    ranks: list[float] = []
    for line in lines:
        rank = numbered_rank(line)
        if rank is None:
            break
        if ranks and rank <= ranks[-1]:
            return [], lines
        ranks.append(rank)
    if not ranks:
        return [], lines
    above, last = lines[: len(ranks) - 1], lines[len(ranks) - 1 :]
    return ([*above, "".join(last)], []) if _is_one_heading(last) else ([*above, last[0]], last[1:])


def _heading(text: str, title: str, rank: float) -> Block:
    return Block(text=text, kind="heading", rank=rank, title=" ".join(title.split()))


def _body(lines: list[str], behind: str) -> Block:
    kind: Kind = "text"
    head = ""
    if len(lines) > 1:
        if sum(bool(_GAP.search(line)) for line in lines) >= _COLUMNS * len(lines):
            kind = "table"
            head = "".join(lines[: 2 if _RULE.fullmatch(lines[1]) else 1])
        elif sum(bool(_ITEM.match(line)) for line in lines) > 1:
            kind = "list"
    return Block(text="".join(lines) + behind, kind=kind, head=head)
