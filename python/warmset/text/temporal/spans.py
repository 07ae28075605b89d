"""Ranges of whole days, and the arithmetic that phrases need."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, TypeAlias

Unit: TypeAlias = Literal["day", "week", "weekend", "month", "year"]

SUNDAY: Final = 6
SATURDAY: Final = 5
MONTHS: Final = 12
DECEMBER: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of days, both ends included.

    Args:
        first: Its first day.
        last: Its last day.
    """

    first: date
    last: date

    def until(self, other: Span) -> Span:
        """Return the range from this one's beginning to the other one's end."""
        return Span(self.first, other.last)


def days(day: date, first: int, last: int | None = None) -> Span:
    """Return the days from one distance to another, counted from a day."""
    last = first if last is None else last
    return Span(day + timedelta(first), day + timedelta(last))


def week(day: date, step: int = 0) -> Span:
    """Return the week, Monday to Sunday, that lies so many weeks after a day's."""
    monday = day + timedelta(7 * step - day.weekday())
    return days(monday, 0, 6)


def weekend(day: date, step: int = 0) -> Span:
    """Return the Saturday and Sunday of the week that lies so many weeks after a day's."""
    return days(week(day, step).first, SATURDAY, SUNDAY)


def month(year: int, number: int) -> Span:
    """Return a month; numbers beyond 1 to 12 run on into other years."""
    year, number = year + (number - 1) // MONTHS, (number - 1) % MONTHS + 1
    return Span(date(year, number, 1), date(year, number, monthrange(year, number)[1]))


def year(number: int) -> Span:
    """Return a year."""
    return Span(date(number, 1, 1), date(number, DECEMBER, 31))


def season(year_: int, first: int) -> Span:
    """Return three months; winter begins in the December of its year."""
    return month(year_, first).until(month(year_, first + 2))


def unit(day: date, name: Unit, step: int) -> Span:
    """Return the day, week, weekend, month or year so many steps after a day's."""
    if name == "day":
        return days(day, step)
    if name == "week":
        return week(day, step)
    if name == "weekend":
        return weekend(day, step)
    if name == "month":
        return month(day.year, day.month + step)
    return year(day.year + step)


def moved(day: date, name: Unit, step: int) -> date:
    """Return the day so many units after another; the 31st becomes the last of a shorter month."""
    if name in {"day", "week", "weekend"}:
        return day + timedelta(step * (1 if name == "day" else 7))
    there = month(day.year, day.month + step * (1 if name == "month" else MONTHS))
    return there.first.replace(day=min(day.day, there.last.day))


def part(whole: Span, which: str) -> Span:
    """Return the early, middle or late third of a range."""
    third = ((whole.last - whole.first).days + 1) // 3
    if which == "early":
        return days(whole.first, 0, third - 1)
    if which == "late":
        return days(whole.last, 1 - third, 0)
    return days(whole.first, third, (whole.last - whole.first).days - third)


def nearest(day: date, choices: list[Span], *, past: bool) -> Span:
    """Choose among the same part of several years.

    Args:
        day: The day on which it was said.
        choices: The candidates.
        past: Whether the past is meant; else the nearest is, of two as near the earlier.
    """
    begun = [span for span in choices if span.first <= day]
    if past and begun:
        return max(begun)
    return min(choices, key=lambda span: (_distance(day, span), span))


def _distance(day: date, span: Span) -> int:
    return max((span.first - day).days, (day - span.last).days, 0)
