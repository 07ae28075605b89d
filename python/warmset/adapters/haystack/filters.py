"""Haystack's filters as conditions on columns, so that few documents have to be read.

A condition is true of every document that the filter matches, and may be true of more: Haystack's
own matcher decides about each of those.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra

with extra("haystack"):
    from haystack.dataclasses import Document
    from haystack.utils.filters import document_matches_filter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.store.log import Where

_FIELDS: Final = frozenset(
    {"id", "content", "blob", "meta", "score", "embedding", "sparse_embedding"}
)
_JOINING: Final = ("and", "or", "not")
_OPPOSITE: Final = {">": "lte", ">=": "lt", "<": "gte", "<=": "gt"}
_LARGEST: Final = 2**63


def check(filters: Mapping[str, Any]) -> None:
    """Refuse malformed filters, whichever documents there are.

    Raises:
        FilterError: A key is missing, an operator is not known, or "in" has no list.
    """
    nothing = Document(content="")
    conditions = filters.get("conditions")
    if "field" not in filters and isinstance(conditions, list):
        document_matches_filter({**filters, "conditions": []}, nothing)
        for condition in conditions:
            check(condition)
        return
    document_matches_filter(dict(filters), nothing)


def matches(filters: Mapping[str, Any] | None, document: Document) -> bool:
    """Tell whether a document is wanted.

    Raises:
        FilterError: It has a value that cannot be compared.
    """
    return not filters or document_matches_filter(dict(filters), document)


def condition_of(filters: Mapping[str, Any] | None) -> Where | None:
    """Return a condition that is true of all documents that are wanted; None for no condition.

    Args:
        filters: Well-formed filters.
    """
    if not filters:
        return None
    if "field" in filters:
        name = _column(filters["field"])
        return None if name is None else _of_one(name, filters["operator"], filters["value"])
    parts = [condition_of(one) for one in filters["conditions"]]
    known = [part for part in parts if part is not None]
    if filters["operator"] == "AND" and known:
        return {"and": known}
    if filters["operator"] == "OR" and known and len(known) == len(parts):
        return {"or": known}
    return None


def _column(field: str) -> str | None:
    """Return the column of a field; None if it is none."""
    name = field.removeprefix("meta.") if "." in field else field
    if field in _FIELDS or "." in name or not name:
        return None
    return None if name.startswith(("\0", "$")) or name in _JOINING else name


def _of_one(name: str, operator: str, value: Any) -> Where | None:
    """Return the condition of one comparison."""
    if operator == "==":
        same = _equals(value)
        return None if same is None else {name: {"in": same}}
    if operator == "in":
        each = [_equals(one) for one in value]
        if any(one is None for one in each):
            return None
        return {name: {"in": [other for one in each for other in one or ()]}}
    if operator == "!=" and isinstance(value, str) and _equals(value):
        return {name: {"ne": value}}
    if operator in _OPPOSITE and _is_number(value):
        # Neither a bool nor a text is less or greater than a number there, but they are in Python,
        # or raise: so all that is not on the other side is looked at.
        return {"and": [{name: {"exists": True}}, {"not": {name: {_OPPOSITE[operator]: value}}}]}
    return None


def _equals(value: Any) -> list[Any] | None:
    """Return all column values that equal a value in Haystack; None if they cannot be listed."""
    if value is None:
        return [None]
    if isinstance(value, str):
        # What begins as a date equals other spellings of it; a half of a surrogate pair is no text.
        if value[:4].isdigit() or any("\ud800" <= char <= "\udfff" for char in value):
            return None
        return [value]
    if isinstance(value, bool) or value in (0, 1):
        return [int(value), bool(value)]
    return [value] if _is_number(value) else None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and -_LARGEST <= value < _LARGEST
