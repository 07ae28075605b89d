"""The words that phrases of time are made of, and the patterns that find them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
"""The months in their order."""

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
)

NUMBERS: Final = {name: at for at, name in enumerate(_NUMBERS, 1)} | {"a": 1, "an": 1, "couple": 2}
"""Numbers by their words."""

VAGUE: Final = {"few": (2, 5), "several": (3, 8)}
"""Numbers that stand for a range."""

ORDINALS: Final = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3}
"""Places in a month, from 0."""

SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first of a season's three months."""

HOLIDAYS: Final = {
    "new year's day": (1, 1),
    "valentine's day": (2, 14),
    "fourth of july": (7, 4),
    "independence day": (7, 4),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
}
"""Days with a name, by month and day."""


def _any(words: Iterable[str]) -> str:
    """Match any of some words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


NEEDS_MONTH: Final = frozenset({*MONTH_NAMES, *(name[:3] for name in MONTH_NAMES), "sept"})
NEEDS_UNIT: Final = frozenset(
    unit + end
    for unit in ("day", "week", "weekend", "month", "year", "decade")
    for end in ("", "s")
)
NEEDS_HOLIDAY: Final = frozenset({word.split()[-1] for word in HOLIDAYS} | {"thanksgiving"})
NEEDS_WEEKDAY: Final = frozenset(
    {*_DAYS, "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun"}
)
"""Words of which a text has one if it has a phrase with a month, a unit, a holiday, a weekday."""

WEEKDAYS: Final = _any(_DAYS)
MONTHS: Final = _any(MONTH_NAMES)
MONTH: Final = rf"(?P<month>{MONTHS}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
FULL_MONTH: Final = rf"(?P<month>{MONTHS})"
DAY: Final = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|[nr]d|th)?"
YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
WEEKDAY: Final = rf"(?P<weekday>{WEEKDAYS})"
SHORT_WEEKDAY: Final = rf"(?P<weekday>{WEEKDAYS}|mon|tues?|wed|thurs?|fri|sat|sun)"
SEASON: Final = rf"(?P<season>{_any(SEASONS)})"
UNIT: Final = r"(?P<unit>day|weekend|week|month|year|decade)s?"
HOLIDAY: Final = rf"(?P<holiday>{_any(HOLIDAYS)}|thanksgiving)"
NUMBER: Final = (
    r"(?P<number>\d{1,3}|(?:a\s+)?couple(?:\s+of)?|(?:(?:a|the)\s+)?few|several"
    rf"|{_any(NUMBERS)})"
)
PART: Final = (
    r"(?:the\s+)?(?P<part>early|beginning\s+of|start\s+of|mid|middle\s+of|late|end\s+of)"
    r"(?:\s+|-)(?:in\s+)?(?:the\s+)?"
)
NO_PART: Final = r"(?P<part>)"


def month_number(word: str) -> int:
    """Return the number of a month's name, full or short."""
    return next(at for at, name in enumerate(MONTH_NAMES, 1) if name.startswith(word[:3]))


def weekday_number(word: str) -> int:
    """Return the number of a weekday's name, full or short, Monday 0."""
    return next(at for at, name in enumerate(_DAYS) if name.startswith(word[:3]))


def numbers(word: str) -> tuple[int, int]:
    """Return the least and the most that a number may mean."""
    bare = re.sub(r"^(?:a|the)\s+|\s+of$", "", word)
    if bare in VAGUE:
        return VAGUE[bare]
    exact = int(bare) if bare.isdigit() else NUMBERS[bare]
    return exact, exact


def part_name(word: str) -> str:
    """Return "early", "middle" or "late"."""
    if word.startswith(("early", "begin", "start")):
        return "early"
    return "middle" if word.startswith("mid") else "late"
