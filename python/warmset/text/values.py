"""Values in a sentence: amounts with what they count, dates, times, codes, numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from warmset.text.hard_facts import plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST: Final = 32
"""The most values that are read of a sentence; one with more is a table."""

_TEENS: Final = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_TENS: Final = "thirty forty fifty sixty seventy eighty ninety"
NUMBERS: Final = {
    **{word: str(number) for number, word in enumerate(_TEENS.split(), 2)},
    **{word: str(number * 10) for number, word in enumerate(_TENS.split(), 3)},
}
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAYS: Final = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_DATE: Final = re.compile(
    rf"(?:\b{_WEEKDAY},?\s+)?(?:the\s+)?"
    rf"\b(?P<day>\d{{1,2}})(?:st|[nr]d|th)?\s+(?:of\s+)?{_MONTH}\b"
    rf"|\b{_MONTH}\s+(?P<day2>\d{{1,2}})(?:st|[nr]d|th)?\b(?!\s*%)"
    rf"|(?:\b{_WEEKDAY},?\s+)?\bthe\s+(?P<day3>\d{{1,2}})(?:st|[nr]d|th)\b"
    rf"|\b(?P<weekday>{_WEEKDAY})\b",
    re.IGNORECASE,
)
CALENDAR: Final = re.compile(rf"{_MONTH}|{_WEEKDAY}", re.IGNORECASE)
"""Names of months and of days of the week."""

_CLOCK: Final = re.compile(
    r"\b\d{1,2}:\d\d(?:\s?[ap]m\b|\b(?!:))|\b\d{1,2}\s?[ap]m\b", re.IGNORECASE
)
_CODE: Final = re.compile(r"\b([A-Z]{1,6})-?(\d{2,6})\b")
_NUMBER: Final = re.compile(
    rf"(?<![\w.:/#-])(?P<sign>[$€£]?)(?P<number>\d[\d,_]*(?:\.\d+)?|\b(?:{'|'.join(NUMBERS)})\b)"
    r"(?P<tail>\s?%|\s?[€$£]|[kK]\b)?(?:[ -]?(?P<unit>[^\W\d_]{1,20})\b)?(?![\w/:)]|-\d|\.\d)",
    re.IGNORECASE,
)
_COUNTS: Final = frozenset(
    f"{word}{behind}"
    for word in (
        *NUMBERS,
        *(f"{day}{s}" for day in _DAYS.split() for s in ("", "s")),
    )
    for behind in ("", ",", ".", ":", ";", "!", ")")
)
"""Words that are values, as they stand between spaces."""

_DIGIT: Final = re.compile(r"\d")
_DATED: Final = re.compile(
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|day|\d(?:st|[nr]d|th)", re.IGNORECASE
)
"""What every date has."""

_YEAR: Final = re.compile(r"(?:19|20)\d\d")
UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("ms", "millis", "millisecond", "milliseconds"), "millisecond"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("eur", "euro", "euros", "€"), "euro"),
    **dict.fromkeys(("usd", "dollar", "dollars", "$"), "dollar"),
    **dict.fromkeys(("gbp", "pound", "pounds", "£"), "pound"),
    **dict.fromkeys(("%", "percent"), "%"),
    **dict.fromkeys(("mb", "mib"), "mb"),
    **dict.fromkeys(("gb", "gib"), "gb"),
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "metre"),
}
"""Units by how they are written; each name is that of its kind."""


_Read: TypeAlias = "Callable[[re.Match[str]], tuple[str, str] | None]"


class Found(NamedTuple):
    """A value and where it stands.

    Args:
        start: Where it begins.
        end: Where it ends.
        kind: What it counts, as it is written, or the name of a unit; "date", "weekday", "time",
            "code ka"; empty for a bare number.
        text: It, in one spelling.
    """

    start: int
    end: int
    kind: str
    text: str


def has_value(text: str) -> bool:
    """Return whether a text may have a value; that is known at once."""
    return _DIGIT.search(text) is not None or not _COUNTS.isdisjoint(text.lower().split())


def values_in(sentence: str) -> list[Found]:
    """Return the values of a sentence, in order. A bare year is none."""
    found: list[Found] = []
    taken = bytearray(len(sentence))
    for pattern, read in _patterns(sentence):
        for match in pattern.finditer(sentence):
            start, end = match.span()
            if len(found) >= MOST or any(taken[start:end]):
                continue
            taken[start:end] = b"\1" * (end - start)
            if (value := read(match)) is not None:
                found.append(Found(start, end, *value))
    return sorted(found)


def _patterns(sentence: str) -> Iterator[tuple[re.Pattern[str], _Read]]:
    """Yield the patterns that may find something in a sentence."""
    digits = _DIGIT.search(sentence) is not None
    if _DATED.search(sentence) is not None:
        yield _DATE, _date
    if digits:
        yield _CLOCK, _time
        yield _CODE, _code
    if digits or not _COUNTS.isdisjoint(sentence.lower().split()):
        yield _NUMBER, _number


def _date(match: re.Match[str]) -> tuple[str, str]:
    if match["weekday"]:
        return "weekday", match["weekday"].lower().rstrip("s")
    return "date", str(int(match["day"] or match["day2"] or match["day3"]))


def _time(match: re.Match[str]) -> tuple[str, str]:
    return "time", "".join(match.group().lower().split())


def _code(match: re.Match[str]) -> tuple[str, str]:
    return f"code {match[1].lower()}", match.group().lower().replace("-", "")


def _number(match: re.Match[str]) -> tuple[str, str] | None:
    tail, unit = (match["tail"] or "").strip().lower(), (match["unit"] or "").lower()
    digits = match["number"]
    number = NUMBERS.get(digits.lower()) or plain_number(digits + tail.replace("%", ""))
    if tail in UNITS and number is None:
        number = plain_number(digits)
    if number is None or (not match["sign"] and not tail and _YEAR.fullmatch(digits)):
        return None
    mark = match["sign"] or (tail if tail != "k" else "") or unit
    return UNITS.get(mark, unit), number
