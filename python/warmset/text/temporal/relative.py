"""Phrases that are counted from the day on which they were said: "yesterday", "two weeks ago"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.text.temporal.rules import Rule, Said, rule
from warmset.text.temporal.spans import Span, days, month, moved, season, unit, week, weekend, year
from warmset.text.temporal.words import (
    FULL_MONTH,
    NEEDS_MONTH,
    NEEDS_UNIT,
    NEEDS_WEEKDAY,
    NUMBER,
    SEASON,
    SEASONS,
    SHORT_WEEKDAY,
    UNIT,
    WEEKDAY,
    month_number,
    numbers,
    weekday_number,
)

if TYPE_CHECKING:
    import re
    from datetime import date

_DAYTIME: Final = r"(?:\s+(?:morning|afternoon|evening|night))?"
_STEPS: Final = {
    "last": -1,
    "past": -1,
    "previous": -1,
    "this past": -1,
    "this": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "this coming": 1,
    "upcoming": 1,
    "following": 1,
}
_WHICHES: Final = frozenset(word for which in _STEPS for word in which.split())
_WHICH: Final = (
    r"(?:the\s+)?(?P<which>last|this\s+past|past|previous|this\s+coming|this|current|next|coming"
    r"|upcoming)"
)


def _step(match: re.Match[str]) -> int:
    return _STEPS[" ".join(match["which"].split())]


def _ago(match: re.Match[str], said: Said) -> Span:
    least, most = numbers(match["number"])
    return _away(said.day, match["unit"], -most).until(_away(said.day, match["unit"], -least))


def _ahead(match: re.Match[str], said: Said) -> Span:
    least, most = numbers(match["number"])
    end = _away(said.day, match["unit"], most)
    if match.groupdict().get("within"):
        return Span(said.day, end.last)
    return _away(said.day, match["unit"], least).until(end)


def _away(day: date, name: str, step: int) -> Span:
    if name == "decade":
        return year(day.year + 10 * step)
    return unit(day, name, step)  # type: ignore[arg-type]


def _lately(match: re.Match[str], said: Said) -> Span:
    count = numbers(match["number"])[1] if match["number"] else 1
    name, factor = match["unit"], 1
    if name == "decade":
        name, factor = "year", 10
    return Span(moved(said.day, name, -factor * count), said.day)  # type: ignore[arg-type]


def _unit(match: re.Match[str], said: Said) -> Span | None:
    name = match["unit"]
    if name in {"day", "decade"}:
        return None
    if name == "weekend":
        return weekend(said.day, _step(match))
    return unit(said.day, name, _step(match))  # type: ignore[arg-type]


def _weekday(match: re.Match[str], said: Said) -> Span:
    gap = (weekday_number(match["weekday"]) - said.day.weekday()) % 7
    step = _step(match)
    if step == 0:
        return days(week(said.day).first, weekday_number(match["weekday"]))
    return days(said.day, (gap or 7) if step > 0 else gap - 7)


def _on(match: re.Match[str], said: Said) -> Span:
    gap = (weekday_number(match["weekday"]) - said.day.weekday()) % 7
    back = gap and gap - 7
    return days(said.day, back if said.past or -back <= gap else gap)


def _day_of_week(match: re.Match[str], said: Said) -> Span:
    return days(week(said.day, _step(match)).first, weekday_number(match["weekday"]))


def _month(match: re.Match[str], said: Said) -> Span:
    number, step = month_number(match["month"]), _step(match)
    return _turn([month(said.day.year + at, number) for at in (-1, 0, 1)], said.day, step)


def _season(match: re.Match[str], said: Said) -> Span:
    first, step = SEASONS[match["season"]], _step(match)
    return _turn([season(said.day.year + at, first) for at in (-2, -1, 0, 1)], said.day, step)


def _turn(spans: list[Span], day: date, step: int) -> Span:
    """Return the last of some yearly ranges before a day, the next one, or this year's."""
    if step < 0:
        return max(span for span in spans if span.last < day)
    if step > 0:
        return min(span for span in spans if span.first > day)
    running = [span for span in spans if span.first <= day <= span.last]
    return running[0] if running else spans[-2]


RULES: Final[tuple[Rule, ...]] = (
    rule(
        ({"yesterday"}, {"before"}),
        r"(?:the\s+)?day\s+before\s+yesterday",
        lambda _, said: days(said.day, -2),
    ),
    rule(
        ({"tomorrow"}, {"after"}),
        r"(?:the\s+)?day\s+after\s+tomorrow",
        lambda _, said: days(said.day, 2),
    ),
    rule((NEEDS_UNIT, {"from"}), rf"{NUMBER}\s+{UNIT}\s+from\s+(?:now|today)", _ahead),
    rule(
        ({"yesterday", "night"},),
        rf"yesterday{_DAYTIME}|last\s+night",
        lambda _, said: days(said.day, -1),
    ),
    rule(({"tomorrow"},), rf"tomorrow{_DAYTIME}", lambda _, said: days(said.day, 1)),
    rule(
        ({"today", "tonight", "morning", "afternoon", "evening"},),
        r"today|tonight|(?:earlier\s+|later\s+)?this\s+(?:morning|afternoon|evening)",
        lambda _, said: days(said.day, 0),
    ),
    rule(({"ago", "back"}, NEEDS_UNIT), rf"{NUMBER}\s+{UNIT}\s+(?:ago|back)", _ago),
    rule(
        (NEEDS_UNIT, {"in", "within"}),
        rf"(?:in|(?P<within>within))\s+{NUMBER}\s+{UNIT}(?:'\s+time)?",
        _ahead,
    ),
    rule(
        (NEEDS_UNIT, {"last", "past"}),
        rf"(?:the\s+|these\s+)?(?:last|past)\s+{NUMBER}\s+{UNIT}",
        _lately,
    ),
    rule(
        (NEEDS_UNIT, {"last", "past"}),
        rf"(?:in|over|during|within|for)\s+the\s+(?:last|past)\s+(?P<number>){UNIT}",
        _lately,
    ),
    rule((NEEDS_WEEKDAY, _WHICHES), rf"{WEEKDAY}\s+(?:of\s+)?{_WHICH}\s+week", _day_of_week),
    rule(
        (NEEDS_UNIT, _WHICHES),
        rf"(?:earlier\s+|later\s+)?{_WHICH}\s+{UNIT.removesuffix('s?')}",
        _unit,
    ),
    rule((NEEDS_WEEKDAY, _WHICHES), rf"{_WHICH}\s+{SHORT_WEEKDAY}{_DAYTIME}", _weekday),
    rule((NEEDS_MONTH, _WHICHES), rf"{_WHICH}\s+{FULL_MONTH}", _month),
    rule((SEASONS, _WHICHES), rf"{_WHICH}\s+{SEASON}", _season),
    rule((NEEDS_WEEKDAY,), rf"(?<!every )(?<!each )(?:on\s+)?{WEEKDAY}{_DAYTIME}", _on),
)
