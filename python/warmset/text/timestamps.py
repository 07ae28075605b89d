"""Reads times as callers pass them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final, cast

from warmset.errors import InvalidInputError

DAY: Final = 86_400
"""Seconds of a day."""

FIRST: Final = -62_135_596_800.0
LAST: Final = 253_402_300_799.0
"""Seconds from 1970 at which the years 1 and 9999 begin and end; milliseconds exceed them."""


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
        InvalidInputError: It is none of these.
    """
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError as error:
            raise InvalidInputError(f"{name}: {error}") from error
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(at, (int, float)) and not isinstance(at, bool) and FIRST <= at <= LAST:
        return float(at)
    raise InvalidInputError(
        f"{name}: expected a datetime, an ISO 8601 text or seconds since 1970, found {at!r}"
    )


def milliseconds(at: object | None, name: str) -> int | None:
    """Read a time that may be absent, as milliseconds since 1970 UTC."""
    return None if at is None else int(seconds(at, name) * 1000)


def kept_time(value: object) -> float:
    """Read seconds since 1970 as a record has them, of a day that has a name.

    Raises:
        InvalidInputError: They are none.
    """
    try:
        at = float(cast("float", value))
        time.gmtime(at)
    except (OverflowError, OSError, TypeError, ValueError) as error:
        raise InvalidInputError(f"at: expected seconds since 1970, found {value!r:.80}") from error
    return at
