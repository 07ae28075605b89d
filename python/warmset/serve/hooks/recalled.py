"""What a hook recalls, quoted as data within a number of bytes."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from warmset.serve.hooks.cutting import one_line
from warmset.text.markup import MEMORY_CLOSING, MEMORY_TAG, RECALLED, TAG
from warmset.text.stopwords import EMPTY

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES: Final = 800
"""The most bytes of what one hook recalls, its frame included."""

MOST_TERMS: Final = 24
"""How many words of a prompt are looked for."""

LEAST_TERMS: Final = 2
"""How many of them a memory must have, where the prompt has as many."""

_EACH: Final = 260
_WORD: Final = re.compile(r"[^\W_](?:[\w.\-/]*[^\W_])?")
_READ: Final = 4_000
_BRACKETS: Final = str.maketrans("[]\n", "() ")
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)

TAGS: Final = ("session-checkpoint", "lost-in-summary", "hand-off")
"""The tags between which hooks put what sessions said."""


class Recalled(NamedTuple):
    """One memory, or one turn.

    Args:
        name: Its name: `#` and the id of a turn, or the name of a memory.
        origin: Whose words these are: user, assistant, tool.
        at: When they were said, in seconds since 1970 UTC.
        text: The passage that matters.
    """

    name: str
    origin: str
    at: float
    text: str


class Recalls(Protocol):
    """What finds memories and turns."""

    def __call__(
        self, query: str, /, *, skip: frozenset[str], without: str | None, most: int
    ) -> Sequence[Recalled]:
        """Return what answers a query, best first.

        Args:
            query: The prompt.
            skip: Names that are not to be found.
            without: The conversation that is not to be looked at; None for none.
            most: The most to return.
        """
        ...


def terms_of(text: str) -> list[str]:
    """Return the words of a text that name something, in lower case, each once."""
    found = (word.casefold() for word in _WORD.findall(text[:_READ]))
    named = (word for word in found if len(word) > 1 and word not in EMPTY)
    return list(dict.fromkeys(named))[:MOST_TERMS]


def passage(text: str, terms: Sequence[str], most: int = _EACH) -> str:
    """Return the part of a text that has most of the terms, in one line.

    Args:
        text: The text.
        terms: Words in lower case.
        most: The most bytes.
    """
    line = " ".join(text.split())
    lower = line.casefold()
    places = [at for term in terms if (at := lower.find(term)) >= 0]
    if len(line.encode("utf-8", "replace")) <= most or not places or len(lower) != len(line):
        return one_line(line, most)
    start = max(0, min(places) - most // 4)
    start = 0 if start == 0 else line.find(" ", start) + 1
    return one_line(("… " if start else "") + line[start:], most)


def has_enough(text: str, terms: Sequence[str]) -> bool:
    """Return whether a text has enough of the terms to be about the same."""
    lower = text.casefold()
    return sum(term in lower for term in terms) >= min(LEAST_TERMS, len(terms))


def quoted(found: Sequence[Recalled], most: int = MOST_BYTES) -> tuple[str, list[str]]:
    """Quote memories as data.

    Args:
        found: What was recalled, best first; what does not fit is left out.
        most: The most bytes, the frame included.

    Returns:
        The quotation, and the names of what is in it; both empty if nothing fits.
    """
    room = most - len((RECALLED + MEMORY_CLOSING).encode())
    lines: list[str] = []
    names: list[str] = []
    for one in found:
        line = fenced(f"[{one.name.translate(_BRACKETS)}, {one.origin}, {_day(one.at)}] ")
        line += fenced(" ".join(one.text.split())) + "\n"
        size = len(line.encode("utf-8", "replace"))
        if size <= room:
            room -= size
            lines.append(line)
            names.append(one.name)
    return (RECALLED + "".join(lines) + MEMORY_CLOSING if lines else ""), names


def fenced(text: str) -> str:
    """Keep a quoted text from closing its quotation."""
    if text.isascii() and "<" not in text:
        return text
    from warmset.text.tags import tag_guard  # noqa: PLC0415 - measured: four milliseconds

    return tag_guard([TAG, MEMORY_TAG, *TAGS])(text)


def _day(at: float) -> str:
    try:
        day = time.gmtime(at)
    except (OverflowError, ValueError, OSError):
        return "day not known"
    return f"{_DAYS[day.tm_wday]} {day.tm_mday} {_MONTHS[day.tm_mon - 1]} {day.tm_year}"
