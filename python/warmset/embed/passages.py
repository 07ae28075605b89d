"""Cutting a long text into overlapping passages, whatever counts its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_PASSAGES: Final = 32
SAMPLED_ABOVE: Final = 1 << 17
"""Characters; a longer text has a hundred passages or more, so only parts of it are read."""

_SLICE = 4096
_IDEOGRAPHS = "\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]{{1,16}}")


class Word(NamedTuple):
    """A stretch of a text that is never cut: where it begins and ends, and what it costs."""

    start: int
    end: int
    cost: int


def rough_words(text: str) -> list[Word]:
    """Find words without a vocabulary: runs of up to 16 characters, or one ideograph, cost 1."""
    return [Word(match.start(), match.end(), 1) for match in _WORD.finditer(text)]


def passages(
    text: str,
    words: Callable[[str], Iterable[Word]],
    *,
    limit: int,
    overlap: int,
    cost: Callable[[str], int] | None = None,
) -> list[str]:
    """Cut a text at word boundaries.

    Each passage takes words while they fit, the next one steps back over ``overlap``. Of more than
    32 passages, 32 are kept, evenly spread from the first to the last.

    Args:
        text: Any text.
        words: Finds the words of a text, in order; one of ASCII costs at most its characters.
        limit: What a passage may cost at most; a word of more stands alone.
        overlap: What two neighbours share at most, so as not to tear a sentence from its context.
        cost: Tells what all words of a text cost, where that takes less than to find them.

    Returns:
        1 to 32 passages; the text itself if it fits into one.
    """
    if len(text) <= limit and text.isascii():
        return [text]
    if len(text) > SAMPLED_ABOVE:
        parts = [_windows(part, words(part), limit, overlap) for part in _slices(text)]
        return [*(part[0] for part in parts[:-1]), parts[-1][-1]]
    if cost is not None and cost(text) <= limit:
        return [text]
    return _spread(_windows(text, words(text), limit, overlap))


def _windows(text: str, words: Iterable[Word], limit: int, overlap: int) -> list[str]:
    spans = list(words)
    if sum(word.cost for word in spans) <= limit:
        return [text]
    found: list[str] = []
    first = 0
    while True:
        last, cost = first + 1, spans[first].cost
        while last < len(spans) and cost + spans[last].cost <= limit:
            cost += spans[last].cost
            last += 1
        found.append(text[spans[first].start : spans[last - 1].end])
        if last == len(spans):
            return found
        spare = min(overlap, limit - spans[last].cost)  # so that the next passage gets further
        while last - 1 > first and spans[last - 1].cost <= spare:
            last -= 1
            spare -= spans[last].cost
        first = last


def _slices(text: str) -> list[str]:
    step = (len(text) - _SLICE) / (MAX_PASSAGES - 1)
    starts = [round(step * index) for index in range(MAX_PASSAGES)]
    return [text[start : start + _SLICE] for start in starts]


def _spread(found: list[str]) -> list[str]:
    if len(found) <= MAX_PASSAGES:
        return found
    step = (len(found) - 1) / (MAX_PASSAGES - 1)
    return [found[round(step * index)] for index in range(MAX_PASSAGES)]
