"""Phrases of time with the days that they meant: "yesterday", said on 8 May 2023, is 7 May 2023."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from warmset.text.features import LONGEST, READ, SPEAKING
from warmset.text.temporal import mentions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from warmset.text.temporal import Mention, Span

_COUNTED_FROM: Final = re.compile(r"\b(?:from|weeks?\s+on)\s+(?:the\s+)?$", re.IGNORECASE)
"""What makes another day of the one behind it: "a week from tomorrow"."""

_GOES_ON: Final = re.compile(r"\w|\s+(?:week|fortnight)\b", re.IGNORECASE)
"""What makes another day of the one before it, or another word: "tomorrow week"."""


def dated(text: str, role: str, at: float) -> str:
    """Add the date after every phrase that names a day relative to the message's day.

    Args:
        text: The message's text; its first 4,000 characters are read.
        role: Its role; a tool's result is not changed.
        at: Its time, in seconds since 1970 UTC.

    Returns:
        The text, as in "I saw her yesterday [7 May 2023]". A phrase that means the day itself, as
        "today", is left alone: that day stands above the quote.
    """
    out: list[str] = []
    done = 0
    for found in _resolvable(text, role, at):
        out += text[done : found.end], f" [{_said(found.span)}]"
        done = found.end
    return "".join(out) + text[done:] if out else text


def resolved(text: str, role: str, at: float) -> list[tuple[str, str]]:
    """Return the phrases that `dated` adds dates to, each with its date.

    Args:
        text: The message's text; its first 4,000 characters are read.
        role: Its role; a tool's result has none.
        at: Its time, in seconds since 1970 UTC.

    Returns:
        Pairs as `("last week", "1-7 May 2023")`, in order; white space in a phrase is one space.
    """
    found = _resolvable(text, role, at)
    return [(" ".join(text[one.start : one.end].split()), _said(one.span)) for one in found]


def _resolvable(text: str, role: str, at: float) -> Iterator[Mention]:
    """Yield the phrases that name another day than the message's, relative to it."""
    if role not in SPEAKING:
        return
    day = datetime.fromtimestamp(at, UTC).date()
    for found in mentions(text[:READ], day, relative_only=True):
        span = found.span
        long = (span.last - span.first).days >= LONGEST
        if not found.relative or long or span.first == span.last == day:
            continue
        before, after = text[max(0, found.start - 30) : found.start], text[found.end :]
        if not _COUNTED_FROM.search(before) and not _GOES_ON.match(after):
            yield found


def _said(span: Span) -> str:
    """Write a range of days as people do, shortly."""
    first, last = span.first, span.last
    if first == last:
        return _day(first)
    whole = first.day == 1 and last.day == monthrange(last.year, last.month)[1]
    if whole and (first.year, first.month) == (last.year, last.month):
        return f"{first:%b %Y}"
    if whole and (first.month, last.month) == (1, 12):
        return f"{first.year}" if first.year == last.year else f"{first.year}-{last.year}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}-{_day(last)}"
    left = f"{first.day} {first:%b}" if first.year == last.year else _day(first)
    return f"{left} - {_day(last)}"


def _day(day: date) -> str:
    return f"{day.day} {day:%b} {day.year}"
