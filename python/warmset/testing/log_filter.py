"""`where` for a log in memory: which columns pass, naively."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from warmset.errors import InvalidInputError

_LEAST, _MOST = -(2**63), 2**63 - 1
_PARTS = {"and", "or", "not"}
_ORDERED = {"lt": {-1}, "lte": {-1, 0}, "gt": {1}, "gte": {0, 1}}


def as_columns(given: Any) -> dict[str, Any]:
    """Return columns as they come back: tuples as lists, times in UTC.

    Raises:
        InvalidInputError: There is a value that cannot be stored.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidInputError(f"columns: expected a mapping from names, found {given!r:.80}")
    return {name: as_value(value) for name, value in given.items()}


def as_value(given: Any) -> Any:
    """Return a value as it comes back.

    Raises:
        InvalidInputError: It cannot be stored.
    """
    if isinstance(given, list | tuple):
        return [_single(one) for one in given]
    return _single(given)


def passes(where: Any, columns: Mapping[str, Any]) -> bool:
    """Return whether a condition is true of columns.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(where, Mapping):
        raise InvalidInputError(f"where: expected a mapping, found {where!r:.80}")
    return all([_one(name, given, columns) for name, given in where.items()])  # noqa: C419 - checks


def compare(one: Any, other: Any) -> int | None:
    """Return -1, 0 or 1 for less, equal and greater; None if neither can be said."""
    if isinstance(one, list) and isinstance(other, list):
        for a, b in zip(one, other, strict=False):
            if equal(a, b):
                continue
            return compare(a, b)
        return (len(one) > len(other)) - (len(one) < len(other))
    if one is None or _sort(one) != _sort(other):
        return None
    return int(one > other) - int(one < other)


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same; None is None, and one is 1.0."""
    if isinstance(one, list) and isinstance(other, list):
        both = zip(one, other, strict=False)
        return len(one) == len(other) and all(equal(a, b) for a, b in both)
    if one is None or other is None:
        return one is other
    return compare(one, other) == 0


def _one(name: Any, given: Any, columns: Mapping[str, Any]) -> bool:
    word = name.removeprefix("$") if isinstance(name, str) else name
    if word in _PARTS:
        if word == "not":
            return not passes(given, columns)
        found = [passes(one, columns) for one in given]
        return all(found) if word == "and" else any(found)
    if not isinstance(name, str) or name.startswith("$"):
        raise InvalidInputError(f"where: expected a column, found {name!r:.80}")
    value = columns.get(name)
    if not isinstance(given, Mapping):
        return equal(value, as_value(given))
    if not given:
        raise InvalidInputError(f"where[{name!r}]: expected an operator, found none")
    return all([_operator(value, one.removeprefix("$"), given[one]) for one in given])  # noqa: C419


def _operator(value: Any, operator: str, given: Any) -> bool:
    if operator in _ORDERED:
        return compare(value, as_value(given)) in _ORDERED[operator]
    if operator in {"eq", "ne"}:
        return equal(value, as_value(given)) == (operator == "eq")
    if operator in {"in", "nin"}:
        found = [equal(value, as_value(one)) for one in given]
        return any(found) == (operator == "in")
    if operator == "exists":
        return (value is not None) is bool(given)
    if operator == "contains":
        wanted = _single(given)
        return isinstance(value, list) and any(equal(one, wanted) for one in value)
    raise InvalidInputError(f"where: there is no operator {operator!r:.80}")


def _sort(value: Any) -> str:
    """Return of which sort a value is; values of two sorts are never equal."""
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _single(given: Any) -> Any:
    if isinstance(given, float) and math.isnan(given):
        raise InvalidInputError("columns: expected a number, found NaN")
    if isinstance(given, int) and not isinstance(given, bool) and not _LEAST <= given <= _MOST:
        raise InvalidInputError("columns: expected an integer of 64 bits")
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InvalidInputError("columns: expected a datetime with a time zone")
        return given.astimezone(UTC)
    if given is None or isinstance(given, bool | int | float | str):
        return given
    raise InvalidInputError(f"columns: expected a value, found {type(given).__name__}")
