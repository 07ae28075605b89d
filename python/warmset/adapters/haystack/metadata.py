"""What the metadata of documents has: its fields, their values, the smallest and the largest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def field_name(name: str) -> str:
    """Return the name of a field of metadata, which may be given behind "meta."."""
    return name.removeprefix("meta.")


def fields_info(metas: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the type of each field, in Haystack's words; a later document counts."""
    found: dict[str, str] = {}
    for meta in metas:
        for name, value in meta.items():
            if value is not None:
                found[name] = _type(value)
    return {name: {"type": kind} for name, kind in found.items()}


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "int"
    return "float" if isinstance(value, float) else "keyword"


def min_max(metas: Iterable[Mapping[str, Any]], field: str) -> dict[str, Any]:
    """Return the smallest and the largest value; None where they cannot be compared."""
    name = field_name(field)
    values = [meta[name] for meta in metas if isinstance(meta.get(name), (int, float, str))]
    try:
        return {"min": min(values), "max": max(values)}
    except (TypeError, ValueError):
        return {"min": None, "max": None}


def unique(metas: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    """Return the different values of a field, by their texts; 1, 1.0, True and "1" all differ."""
    name = field_name(field)
    found: dict[tuple[str, str], Any] = {}
    for meta in metas:
        value = meta.get(name)
        if value is not None:
            written = json.dumps(value, sort_keys=True)
            found.setdefault((type(value).__name__, written), value)
    return [found[key] for key in sorted(found, key=lambda key: (str(found[key]), key[0]))]


def counts(metas: Sequence[Mapping[str, Any]], fields: Iterable[str]) -> dict[str, int]:
    """Return how many different values each field has; here 1 and 1.0 are the same."""
    return {field_name(field): len(_equal_values(metas, field)) for field in fields}


def _equal_values(metas: Iterable[Mapping[str, Any]], field: str) -> set[Any]:
    name = field_name(field)
    values = (meta.get(name) for meta in metas)
    return {_hashable(value) for value in values if value is not None}


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return "list", tuple(map(_hashable, value))
    if isinstance(value, dict):
        return "dict", frozenset((key, _hashable(one)) for key, one in value.items())
    return value
