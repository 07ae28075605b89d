"""Times as callers pass them and as records have them: the years that have names."""

# ruff: noqa: DTZ001, DTZ901 - times without a zone are given, too

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from warmset import Filter, Memory
from warmset.errors import InvalidInputError
from warmset.text.timestamps import DAY, FIRST, LAST, kept_time, seconds

EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (datetime.min, FIRST),
        (datetime(1, 1, 1, 14, tzinfo=EAST), FIRST),
        (datetime.max, LAST),
        (datetime(9999, 12, 31, 23, 59, 59), LAST),
        (datetime(9999, 12, 31, 11, 59, 59, 999_999, tzinfo=WEST), LAST),
        (datetime(9999, 12, 31, 23, 59, 58, 500_000), LAST - 0.5),
        ("9999-12-31T23:59:59.999999", LAST),
        (FIRST, FIRST),
        (LAST, LAST),
    ],
)
def test_the_first_and_last_moments_are_times(given, expected):
    assert seconds(given) == expected
    datetime.fromtimestamp(seconds(given), UTC)


@pytest.mark.parametrize(
    "given",
    [
        datetime(1, 1, 1, tzinfo=EAST),
        datetime(1, 1, 1, 13, 59, 59, tzinfo=EAST),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=WEST),
        datetime(9999, 12, 31, 12, 0, 1, tzinfo=WEST),
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+00:01",
        FIRST - 1,
        LAST + 1,
        float("nan"),
        True,
    ],
)
def test_moments_of_other_years_are_refused(given):
    with pytest.raises(InvalidInputError, match="9999"):
        seconds(given)
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        with pytest.raises(InvalidInputError, match="9999"):
            log.append({"role": "user", "content": "a"}, at=given)
        assert log.ids == []


def test_a_turn_of_the_last_moment_is_found_and_shown():
    with Memory.open(None, embedder="lexical") as memory:
        log = memory.conversation("log")
        ids = log.append({"role": "user", "content": "the vault"}, at=datetime.max)
        assert memory.search("vault", where=Filter(since=datetime.max)).ids == ids
        assert log.window("vault", budget=500, mode="steady").messages
        assert memory.stats()["messages"] == 1


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (FIRST - DAY, FIRST),
        (FIRST - 1, FIRST),
        (LAST + 1, LAST),  # what `datetime.max` was stored as
        (LAST + DAY, LAST),
        (7, 7.0),
    ],
)
def test_stored_times_of_days_without_a_name_are_those_beside_them(kept, expected):
    assert kept_time(kept) == expected


@pytest.mark.parametrize(
    "kept", [FIRST - DAY - 1, LAST + DAY + 1, float("nan"), float("inf"), "x", None, [], 10**400]
)
def test_what_is_no_time_of_a_record_is_refused(kept):
    with pytest.raises(InvalidInputError, match="at: expected seconds"):
        kept_time(kept)
