"""Finds phrases of time in a text, and the days that they mean.

```text
phrases, each word once ─▶ "from" phrase "to" phrase ─▶ "two days before" + phrase
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from warmset._core import KnownWords
from warmset.text.temporal import absolute, relative
from warmset.text.temporal.rules import Said
from warmset.text.temporal.spans import (
    SATURDAY,
    Span,
    days,
    month,
    moved,
    unit,
    week,
    weekend,
    year,
)
from warmset.text.temporal.words import NUMBER, SHORT_WEEKDAY, UNIT, numbers, weekday_number

if TYPE_CHECKING:
    from datetime import date

READ: Final = 20_000
"""Characters of a text that are read."""

MOST: Final = 32
"""Phrases after which no further rule is tried: a text with more is a table."""

_RULES: Final = (*absolute.RULES, *relative.RULES)
_RELATIVE: Final = range(len(absolute.RULES), len(_RULES) - 1)
"""Not of these is a bare weekday, the last rule: "on Friday" may be the last one or the next."""
RELATIVE_NEEDS: Final = tuple(_RULES[number].needs for number in _RELATIVE)
"""What a text has if phrases count in it that depend on the day alone; see `Rule`."""

RELATIVE_REACH: Final = 4
"""How many words the last of those that one of them needs stands behind the first: "in a couple of
weeks"."""

_NEEDS: Final = frozenset[str]().union(*(rule.needs[0] for rule in _RULES)) - {"/"}
_WORDS: Final = frozenset[str]().union(*(need for rule in _RULES for need in rule.needs))
_BY_WORD: Final = {
    word: [number for number, rule in enumerate(_RULES) if word in rule.needs[0]] for word in _WORDS
}
_KNOWN: Final = KnownWords(sorted(_WORDS))
_YEAR: Final = re.compile(r"(?:19|20)(?<!\w\d\d)\d\d(?!\d)")  # a literal first is found faster
_YEAR_BEHIND: Final = re.compile(r"(?:19|20)(?<!\d\d\d)\d\d(?!\d)")
"""A year that may stand right behind the word that it belongs to, as in "may2023"."""
_OFFSET: Final = re.compile(
    rf"\b(?:(?:{NUMBER}\s+)?{UNIT}|(?:the\s+)?{SHORT_WEEKDAY})\s+"
    r"(?P<side>before|prior\s+to|after|following)\s+(?:the\s+)?$"
)
_SIDE: Final = re.compile(
    r"\b(?P<side>before|prior\s+to|until|till|by|since|after|ever\s+since)\s+(?:the\s+)?$"
)
_JOINED: Final = re.compile(r"\s*(?:-|\u2013|to|until|till|and|through)\s*(?:the\s+)?")
_OPENED: Final = re.compile(r"\b(?:between|from)\s+(?:the\s+)?$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase of time in a text.

    Args:
        start: Where it begins.
        end: Where it ends.
        span: The days that it means.
        relative: Whether that depends on the day on which it was said, as in "yesterday".
    """

    start: int
    end: int
    span: Span
    relative: bool


def mentions(
    text: str, day: date, *, past: bool = False, relative_only: bool = False
) -> list[Mention]:
    """Find phrases of time.

    Args:
        text: English; its first 20,000 characters are read.
        day: The day on which it was said.
        past: Whether a part of the year without its year, as "in March", is the last one; else it
            is the nearest one.
        relative_only: Whether phrases count that depend on the day alone. Where a text has one,
            its other phrases are returned, too.

    Returns:
        What was found, in order; phrases that are not known are not in it.
    """
    head = text[:READ].replace("’", "'")
    lower = head.lower()
    if len(lower) != len(head):  # places would move
        lower = head
    able = _able(lower)
    if not able or (relative_only and not any(number in _RELATIVE for number in able)):
        return []
    said = Said(day, past, head)
    taken: list[tuple[int, int, Span | None, bool]] = []
    covered = bytearray(len(lower))  # the places of what was taken
    for number in able:
        rule = _RULES[number]
        if len(taken) >= MOST:
            break
        for match in rule.pattern.finditer(lower):
            start, end = match.span("core" if "core" in rule.pattern.groupindex else 0)
            if covered.find(1, start, end) >= 0:
                continue
            covered[start:end] = b"\1" * (end - start)
            far = number in _RELATIVE
            try:
                taken.append((start, end, rule.resolve(match, said), far))
            except (ValueError, OverflowError):  # 31 June, the year 10,000
                taken.append((start, end, None, far))
    order = sorted(taken, key=itemgetter(0))
    found = [Mention(start, end, span, far) for start, end, span, far in order if span]
    made = [whole for one in _joined(lower, found) if (whole := _offset(lower, one, day))]
    return _outer(made)


def _able(lower: str) -> list[int]:
    """Return the numbers of the rules whose words a text in lower case has, in order."""
    words = frozenset(_KNOWN.among(lower))
    if words.isdisjoint(_NEEDS):
        if not _YEAR.search(lower):
            return []
        words |= {"#year"}
    elif _YEAR_BEHIND.search(lower):
        words |= {"#year"}
    named = sorted({number for word in words for number in _BY_WORD.get(word, ())})
    return [
        number
        for number in named
        if not any(need.isdisjoint(words) for need in _RULES[number].needs)
    ]


def _outer(found: list[Mention]) -> list[Mention]:
    """Leave out what lies within another one: in "the Friday before 15 July", the Friday alone.

    What ends later stands later, so that a phrase lies within one of those that follow if the
    earliest beginning of these is not after its own.
    """
    out: list[Mention] = []
    for one in reversed(found):
        if not out or one.start < out[-1].start:
            out.append(one)
    return out[::-1]


def _offset(text: str, found: Mention, day: date) -> Mention | None:
    """Take up what stands before a phrase: "two days before", "since"; None if it is open."""
    before = text[max(found.start - 60, 0) : found.start]
    match = _OFFSET.search(before)
    if match is not None:
        start = found.start - len(before) + match.start()
        try:
            return replace(found, start=start, span=_beside(found.span, match))
        except (ValueError, OverflowError):
            return None
    match = _SIDE.search(before)
    if match is None:
        return found
    start = found.start - len(before) + match.start()
    side, span = match["side"], found.span
    if side.endswith("since"):
        return replace(found, start=start, span=Span(span.first, max(day, span.last)))
    if side == "after" and span.last < day:
        return replace(found, start=start, span=Span(days(span.last, 1).first, day))
    return None


def _beside(span: Span, match: re.Match[str]) -> Span:
    """Return the days so far before or after a range."""
    ahead = match["side"] in {"after", "following"}
    edge, sign = (span.last, 1) if ahead else (span.first, -1)
    if match["weekday"]:
        wanted = weekday_number(match["weekday"])
        gap = (wanted - edge.weekday()) % 7 or 7
        return days(edge, gap if ahead else gap - 7 or -7)
    name, count = match["unit"], match["number"]
    if count is None or numbers(count) == (1, 1):
        if name == "weekend":
            return weekend(edge, 0 if ahead and edge.weekday() < SATURDAY else sign)
        return _unit(edge, name, sign)
    least, most = numbers(count)
    ends = sorted((_far(edge, name, sign * least), _far(edge, name, sign * most)))
    return ends[0].until(ends[1])


def _unit(day: date, name: str, step: int) -> Span:
    if name == "decade":
        return year(day.year + 10 * step)
    return unit(day, name, step)  # type: ignore[arg-type]


def _far(day: date, name: str, step: int) -> Span:
    """Return the day, or the week, month or year, so many units away."""
    if name == "decade":
        return year(day.year + 10 * step)
    there = moved(day, name, step)  # type: ignore[arg-type]
    if name == "day":
        return days(there, 0)
    if name in {"week", "weekend"}:
        return week(there)
    return month(there.year, there.month) if name == "month" else year(there.year)


def _joined(text: str, found: list[Mention]) -> list[Mention]:
    """Join "from A to B" and "between A and B"."""
    out: list[Mention] = []
    for one in found:
        last = out[-1] if out else None
        # No phrase has an opening at its end, so it stands after the one before.
        before = out[-2].end if len(out) > 1 else 0
        if (
            last is not None
            and _JOINED.fullmatch(text, last.end, one.start)
            and (match := _OPENED.search(text, before, last.start))
            and last.span.first <= one.span.last
        ):
            far = last.relative or one.relative
            out[-1] = Mention(match.start(), one.end, last.span.until(one.span), far)
        else:
            out.append(one)
    return out
