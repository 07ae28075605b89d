"""Phrases that name their days: "8 May 2023", "in March", "the first weekend of August"."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from warmset.text.temporal.rules import Rule, Said, rule
from warmset.text.temporal.spans import (
    Span,
    days,
    month,
    nearest,
    part,
    season,
    week,
    weekend,
    year,
)
from warmset.text.temporal.words import (
    DAY,
    FULL_MONTH,
    HOLIDAY,
    HOLIDAYS,
    MONTH,
    MONTHS,
    NEEDS_HOLIDAY,
    NEEDS_MONTH,
    NO_PART,
    ORDINALS,
    PART,
    SEASON,
    SEASONS,
    WEEKDAYS,
    YEAR,
    month_number,
    part_name,
    weekday_number,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_YEARS: Final = ("#year",)
_STROKES: Final = ("/",)
_QUARTERS: Final = ("q",)
_WEEK: Final = ("week",)
_BETWEEN: Final = ("between",)
_DAYS: Final = frozenset(str(day) for day in range(1, 32)) | {f"0{day}" for day in range(1, 10)}
_PARTS: Final = ("early", "beginning", "start", "mid", "middle", "late", "end")
_ORDINALS: Final = ("first", "second", "third", "fourth", "last", "1", "2", "3")
_DECADES: Final = frozenset(f"{century}{ten}0" for century in ("", "19", "20") for ten in range(10))
_IN: Final = r"(?:in|during|since|by|until|till|from|between|and|to|of|before|after|around|through)"
_OF: Final = r"(?:,?\s*|,?\s+(?:of|in)\s+)"


def _one(span: date) -> Span:
    return days(span, 0)


def _in_year(match: re.Match[str], said: Said, make: Callable[[int], Span]) -> Span:
    """Make a range in the year that is named, or in the one that is meant."""
    named = match["year"]
    if named:
        return make(int(named))
    years = (said.day.year - 1, said.day.year, said.day.year + 1)
    return nearest(said.day, [span for at in years if (span := _try(make, at))], past=said.past)


def _try(make: Callable[[int], Span], at: int) -> Span | None:
    try:
        return make(at)
    except ValueError:  # 29 February
        return None


def _parted(match: re.Match[str], span: Span) -> Span:
    return part(span, part_name(match["part"])) if match["part"] else span


def _iso(match: re.Match[str], _said: Said) -> Span:
    return _one(date(int(match["year"]), int(match["m"]), int(match["d"])))


def _slashed(match: re.Match[str], _said: Said) -> Span | None:
    first, second, at = int(match["a"]), int(match["b"]), int(match["year"])
    if first == second or second > 12 >= first:  # noqa: PLR2004 - months of a year
        return _one(date(at, first, second))
    return _one(date(at, second, first)) if first > 12 >= second else None  # noqa: PLR2004


def _day(match: re.Match[str], said: Said) -> Span | None:
    if match["month"] == "may" and not match["year"] and said.text[match.start("month")] == "m":
        return None  # "chapter 5 may help"
    number, first = month_number(match["month"]), int(match["day"])
    last = int(match["last"] or first)
    return _in_year(match, said, lambda at: Span(date(at, number, first), date(at, number, last)))


def _month(match: re.Match[str], said: Said) -> Span:
    number = month_number(match["month"])
    return _parted(match, _in_year(match, said, lambda at: month(at, number)))


def _months(match: re.Match[str], said: Said) -> Span:
    first, last = month_number(match["from"]), month_number(match["month"])
    span = _in_year(match, said, lambda at: month(at, last))
    return month(span.first.year - (first > last), first).until(span)


def _of_month(match: re.Match[str], said: Said) -> Span:
    number, which, what = month_number(match["month"]), match["which"], match["what"]
    whole = _in_year(match, said, lambda at: month(at, number))
    edge = whole.last if which == "last" else whole.first
    step = 0 if which == "last" else ORDINALS[which]
    if what == "week":
        return days(edge, -6, 0) if which == "last" else days(edge, 7 * step, 7 * step + 6)
    wanted = 5 if what == "weekend" else weekday_number(what)
    gap = -((edge.weekday() - wanted) % 7) if which == "last" else (wanted - edge.weekday()) % 7
    there = days(edge, gap + 7 * step)
    return weekend(there.first) if what == "weekend" else there


def _season(match: re.Match[str], said: Said) -> Span:
    first = SEASONS[match["season"]]
    return _parted(match, _in_year(match, said, lambda at: season(at, first)))


def _year(match: re.Match[str], _said: Said) -> Span:
    return _parted(match, year(int(match["year"])))


def _quarter(match: re.Match[str], said: Said) -> Span:
    first = 3 * int(match["q"]) - 2
    return _in_year(match, said, lambda at: month(at, first).until(month(at, first + 2)))


def _decade(match: re.Match[str], _said: Said) -> Span:
    first = int(match["decade"])
    first += 0 if first > 100 else 1900 if first >= 30 else 2000  # noqa: PLR2004 - "the 90s"
    return year(first).until(year(first + 9))


def _holiday(match: re.Match[str], said: Said) -> Span:
    name = match["holiday"]

    def make(at: int) -> Span:
        if name == "thanksgiving":  # the fourth Thursday of November
            first = date(at, 11, 1)
            return days(first, (3 - first.weekday()) % 7 + 21)
        return _one(date(at, *HOLIDAYS[name]))

    return _in_year(match, said, make)


def _week_of(match: re.Match[str], said: Said) -> Span | None:
    day = _day(match, said)
    return day and week(day.first)


_LAST: Final = (
    r"(?:\s*(?:-|\u2013|to|and|through)\s*(?P<last>[12]\d|3[01]|0?[1-9])(?:st|[nr]d|th)?)?"
)
_YEARED: Final = rf"(?:{_OF}{YEAR})?"
_NO_YEAR: Final = "(?P<year>)"
_DAY_MONTH: Final = rf"(?:the\s+)?{DAY}{_LAST}\s+(?:of\s+)?{MONTH}{_YEARED}"
_MONTH_DAY: Final = rf"{MONTH}\s+(?:the\s+)?{DAY}{_LAST}(?!\d|:|\s*[ap]m\b){_YEARED}"
_WHICH: Final = r"(?:the\s+)?(?P<which>first|1st|second|2nd|third|3rd|fourth|last)"
_WHAT: Final = rf"(?P<what>weekend|week|{WEEKDAYS})"
_SOME: Final = rf"(?:{PART}|{NO_PART.replace('part', 'whole')})"

RULES: Final[tuple[Rule, ...]] = (
    rule((_YEARS,), rf"{YEAR}[-/](?P<m>\d\d)[-/](?P<d>\d\d)(?:t[\d:.]+z?)?", _iso),
    rule((_STROKES,), rf"(?P<a>\d\d?)/(?P<b>\d\d?)/{YEAR}", _slashed),
    rule(
        (NEEDS_MONTH, _ORDINALS), rf"{_WHICH}\s+{_WHAT}\s+(?:of|in)\s+{MONTH}{_YEARED}", _of_month
    ),
    rule((NEEDS_MONTH, _WEEK), rf"(?:the\s+)?week\s+of\s+{_DAY_MONTH}", _week_of),
    rule((NEEDS_MONTH, _WEEK), rf"(?:the\s+)?week\s+of\s+{_MONTH_DAY}", _week_of),
    rule((NEEDS_HOLIDAY,), rf"{HOLIDAY}{_YEARED}", _holiday),
    rule((NEEDS_MONTH, _DAYS), _DAY_MONTH, _day),
    rule((NEEDS_MONTH, _DAYS), _MONTH_DAY, _day),
    rule(
        (NEEDS_MONTH, _BETWEEN),
        rf"between\s+(?P<from>{MONTHS})\s+and\s+{FULL_MONTH}{_YEARED}",
        _months,
    ),
    rule(
        (NEEDS_MONTH,),
        rf"(?P<from>{MONTHS})\s*(?:-|\u2013|to|through)\s*{FULL_MONTH}{_YEARED}",
        _months,
    ),
    rule((NEEDS_MONTH, _YEARS), rf"{_SOME}{MONTH}{_OF}{YEAR}", _month),
    rule((_QUARTERS,), rf"q(?P<q>[1-4]){_YEARED}", _quarter),
    rule((SEASONS, _YEARS), rf"{_SOME}{SEASON}{_OF}{YEAR}", _season),
    rule((SEASONS,), rf"(?:in|during|over|since)\s+(?:the\s+)?{_SOME}{SEASON}{_NO_YEAR}", _season),
    rule((_DECADES,), r"(?:in\s+)?the\s+(?P<decade>(?:19|20)?\d0)'?s", _decade),
    # "may" and "march" are verbs as well: a month alone stands after a preposition.
    rule((NEEDS_MONTH, _PARTS), rf"{PART}{FULL_MONTH}{_NO_YEAR}", _month),
    rule((NEEDS_MONTH,), rf"{_IN}\s+(?P<core>{NO_PART}{FULL_MONTH}{_NO_YEAR})", _month),
    rule((_YEARS, _PARTS), rf"{PART}{YEAR}", _year),
    rule((_YEARS,), rf"{_IN}\s+(?:the\s+year\s+)?(?P<core>{NO_PART}{YEAR})", _year),
)
