"""Reads fields of other programs' files, which may have any type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

_MILLISECONDS = 1e11
"""Numbers above this count milliseconds: as seconds they would be after the year 5000."""


def text(fields: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is a text and not empty."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def number(fields: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is a text or a number, as a text."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def mapping(value: object) -> dict[str, Any]:
    """Return a value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def moment(fields: Mapping[str, Any], *names: str) -> float | None:
    """Return the first of these fields that is a time, in seconds since 1970 UTC."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, (int, float)) and value > _MILLISECONDS:
            value = value / 1000
        if value is not None:
            try:
                return seconds(value)
            except InvalidInputError:
                continue
    return None


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
