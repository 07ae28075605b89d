"""Reads times as callers pass them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from numbers import Real
from typing import Final, cast

from warmset.errors import InvalidInputError

DAY: Final = 86_400
"""Seconds of a day."""

FIRST: Final = -62_135_596_800.0
LAST: Final = 253_402_300_799.0
"""Seconds from 1970 at which the years 1 and 9999 begin and end; milliseconds exceed them."""


LONGEST_WAIT: Final = 1e9
"""Seconds, some thirty years."""


def day_of(at: float) -> int:
    """Return the day of a time in seconds, UTC, counted from 1970."""
    return int(at // DAY)


def seconds(at: object, name: str = "at") -> float:
    """Read a time: a datetime (naive means UTC), seconds since 1970 UTC, or an ISO 8601 text.

    Args:
        at: The time.
        name: The argument's name, for the error.

    Returns:
        Seconds since 1970 UTC.

    Raises:
        InvalidInputError: It is none of these, or of no year from 1 to 9999 in UTC.
    """
    given = at
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError as error:
            raise InvalidInputError(f"{name}: {error}") from error
    if isinstance(at, datetime):
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        at = min(at, LAST) if at <= LAST + 1 else at  # the last second, which rounds up
    if isinstance(at, (int, float)) and not isinstance(at, bool) and FIRST <= at <= LAST:
        return float(at)
    raise InvalidInputError(
        f"{name}: expected a datetime, an ISO 8601 text or seconds since 1970, of a year from 1 to "
        f"9999 in UTC, found {given!r:.80}"
    )


def waiting_time(given: object, name: str) -> float:
    """Read how long to wait: a number of seconds, 0 or more.

    Args:
        given: The seconds; what is beyond thirty years is thirty years, which locks can wait.
        name: The argument's name, for the error.

    Returns:
        Seconds.

    Raises:
        InvalidInputError: They are no such number.
    """
    if isinstance(given, Real) and not isinstance(given, bool):
        number = cast("float", given)
        if number >= 0:
            return float(min(number, LONGEST_WAIT))  # first: an integer may exceed all floats
    raise InvalidInputError(f"{name}: expected seconds, 0 or more, found {given!r:.80}")


def milliseconds(at: object | None, name: str) -> int | None:
    """Read a time that may be absent, as milliseconds since 1970 UTC."""
    return None if at is None else int(seconds(at, name) * 1000)


def kept_time(value: object) -> float:
    """Read seconds since 1970 as a record has them.

    Earlier versions stored times of up to a day before the year 1 or behind 9999, from time zones;
    these are moved to its first or last second, because such days have no names.

    Raises:
        InvalidInputError: They are none.
    """
    try:
        at = float(cast("float", value))
    except (OverflowError, TypeError, ValueError):
        at = math.nan
    if not FIRST - DAY <= at <= LAST + DAY:
        raise InvalidInputError(f"at: expected seconds since 1970, found {value!r:.80}")
    return min(max(at, FIRST), LAST)
