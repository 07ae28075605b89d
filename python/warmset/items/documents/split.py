"""Cuts a block that is too large: between sentences, lines or words, and else between characters.

Tables are cut between rows, and each part begins with the table's head; code between lines, each
part within its fence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from warmset.items.documents.blocks import Block

Count: TypeAlias = Callable[[Sequence[str]], list[int]]
"""Counts the tokens of texts."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORD: Final = re.compile(r"\s*\S+|\s+")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？])")  # noqa: RUF001 - full stops of Chinese
_JOINER: Final = "\u200d"
_TONES: Final = range(0x1F3FB, 0x1F400)
_BYTES: Final = 4
"""The most bytes of a character in UTF-8, and so the most tokens."""


def pieces_of(text: str, limit: int, count: Count, *, by_lines: bool) -> list[tuple[str, int]]:
    """Cut a text into pieces of at most so many tokens, as long as sentences or lines are.

    Args:
        text: The text.
        limit: The most tokens of a piece.
        count: Counts tokens.
        by_lines: Whether lines are cut first, as in lists, and not sentences.

    Returns:
        The pieces with their tokens; joined, they are the text.
    """
    sentences, lines = _SENTENCE.split, _LINE.findall
    ways = (lines, sentences) if by_lines else (sentences, lines)
    parts = [text]
    for cut in (*ways, _WORD.findall, lambda part: _characters(part, max(1, limit // _BYTES))):
        sizes = count(parts)
        if max(sizes) <= limit:
            break
        parts = [
            piece
            for part, size in zip(parts, sizes, strict=True)
            for piece in ([part] if size <= limit else cut(part))
            if piece
        ]
    return list(zip(parts, count(parts), strict=True))


def parts_of(block: Block, limit: int, count: Count) -> list[str]:
    """Cut a table or code into parts of at most so many tokens, each with its head and tail.

    Args:
        block: The table or the code.
        limit: The most tokens of a part.
        count: Counts tokens.

    Returns:
        The parts. A head with more than half of the tokens is not repeated.
    """
    head, tail = block.head, block.tail
    around = sum(count([head, tail]))
    if around > limit // 2:
        head, tail, around = "", "", 0
    body = block.text[len(head) : len(block.text) - len(tail)]
    room = limit - around
    while True:
        pieces = pieces_of(body, room, count, by_lines=True)
        parts = [_whole(head, one, tail) for one in _filled(pieces, room)]
        if room <= _BYTES or max(count(parts), default=0) <= limit:
            return parts
        room = room * 9 // 10  # tokens of parts do not add up where they meet


def _whole(head: str, body: str, tail: str) -> str:
    return head + body + ("" if not tail or body.endswith("\n") else "\n") + tail


def _filled(pieces: Sequence[tuple[str, int]], room: int) -> list[str]:
    """Join pieces as long as they fit."""
    parts: list[str] = []
    used = room + 1
    for piece, size in pieces:
        if used + size > room:
            parts.append(piece)
            used = size
        else:
            parts[-1] += piece
            used += size
    return parts


def halves_of(text: str) -> tuple[str, str]:
    """Cut a text with more than one character in the middle."""
    first, *rest = _characters(text, max(1, len(text) // 2))
    return first, "".join(rest)


def _characters(text: str, size: int) -> list[str]:
    """Cut a text into pieces of at most so many code points, between characters if possible."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = min(len(text), start + size)
        cut = end
        while start < cut < len(text) and _continues(text, cut):
            cut -= 1
        end = cut if cut > start else end
        parts.append(text[start:end])
        start = end
    return parts


def _continues(text: str, at: int) -> bool:
    """Return whether a code point belongs to the character before it."""
    sign = text[at]
    return (
        sign == _JOINER
        or text[at - 1] == _JOINER
        or unicodedata.category(sign) in ("Mn", "Me", "Mc")
        or ord(sign) in _TONES
    )
