"""How an item lies in the log: a cell whose columns are the fields that a filter may name.

```text
(tenant, space, label, label, ..., 0xFF + key)    an item of the namespace (label, label, ...)
```

The byte 0xFF stands in no label, so an item is never taken for a namespace. Fields of the value
that are numbers, truth values or short texts are columns, named "v." and their name; `part` says
that not all fields that could be are.
"""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from warmset.adapters.as_json import loaded
from warmset.adapters.langgraph.framework import Item, SearchItem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset._core import Cell
    from warmset.adapters.place import Place
    from warmset.store.rows import Key

MARK: Final = b"\xff"
MOST_FIELDS: Final = 64
LONGEST: Final = 256
"""Characters of a text, or of a field's name, that is a column."""

LARGEST: Final = 2**63
SCALAR: Final = (int, float, str)  # and truth values, which are numbers here
START: Final = datetime(1970, 1, 1, tzinfo=UTC)

COMPARED: Final = {
    "$eq": "eq",
    "$ne": "ne",
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
}

ORDERED: Final = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def key_of(place: Place, namespace: Sequence[str], key: str) -> Key:
    """Return the key of an item's cell."""
    return place.key(*namespace, MARK + str(key).encode())


def name_of(key: Sequence[bytes]) -> tuple[tuple[str, ...], str]:
    """Return the namespace and the key of the item in a cell."""
    return labels_of(key[2:-1]), key[-1][1:].decode()


def labels_of(parts: Sequence[bytes]) -> tuple[str, ...]:
    """Return the labels of a namespace, as parts of a key."""
    return tuple([part.decode() for part in parts])


@lru_cache(maxsize=1024)  # items that were put together have the same
def time_of(micros: int) -> datetime:
    """Return a time that was given in microseconds since 1970 UTC."""
    return START + timedelta(microseconds=micros)


def item_of(cell: Cell) -> Item:
    """Return the item in a cell."""
    namespace, key = name_of(cell.key)
    return Item(
        value=loaded(cell.payload),
        key=key,
        namespace=namespace,
        created_at=time_of(cell.born_at),
        updated_at=time_of(cell.at),
    )


def found_of(cell: Cell, value: dict[str, Any], score: float | None) -> SearchItem:
    """Return the item in a cell as a search returns it; its value was read before."""
    namespace, key = name_of(cell.key)
    return SearchItem(namespace, key, value, time_of(cell.born_at), time_of(cell.at), score)


def columns_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a value's fields."""
    columns: dict[str, Any] = {}
    for name, field in value.items():
        if not isinstance(field, SCALAR):
            continue
        if len(columns) >= MOST_FIELDS or len(name) > LONGEST or not _is_column(field):
            columns["part"] = True
        else:
            columns[f"v.{name}"] = field
    return columns


def where_of(wanted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what is true of the columns of every item that a filter finds, and of few others."""
    found = []
    for name, operand in (wanted or {}).items():
        tests = operand if _has_operators(operand) else {"$eq": operand}
        known = {
            COMPARED[sign]: to
            for sign, to in tests.items()
            if sign in COMPARED and isinstance(to, SCALAR) and _is_column(to)
        }
        if known and to_be_there(known):
            found.append({f"v.{name}": known})
    return {"or": [{"part": True}, {"and": found}]} if found else None


def to_be_there(tests: Mapping[str, Any]) -> bool:
    """Return whether a field that is no column cannot pass: one that is "ne" something may."""
    return "ne" not in tests and all(to is not None for to in tests.values())


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Return whether a value has what a filter names, in LangGraph's sense.

    Raises:
        ValueError: The filter has an operator that LangGraph does not know.
    """
    return all(_agrees(value.get(name), to) for name, to in (wanted or {}).items())


def _agrees(field: Any, wanted: Any) -> bool:
    if _has_operators(wanted):
        return all(_passes(field, sign, to) for sign, to in wanted.items())
    if isinstance(wanted, dict):
        if not isinstance(field, dict):
            return False
        return all(_agrees(field.get(name), to) for name, to in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(field, (list, tuple)) or len(field) != len(wanted):
            return False
        return all(map(_agrees, field, wanted))
    return _same(field, wanted)


def _passes(field: Any, sign: str, to: Any) -> bool:
    if sign not in COMPARED:
        raise ValueError(f"Unsupported operator: {sign}")
    if sign in ("$eq", "$ne"):
        return _same(field, to) is (sign == "$eq")
    texts = isinstance(field, str) and isinstance(to, str)
    if not texts and not (_is_number(field) and _is_number(to)):
        return False
    return bool(ORDERED[sign](field, to))


def _same(field: Any, to: Any) -> bool:
    return isinstance(field, bool) is isinstance(to, bool) and bool(field == to)


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, dict) and any(str(name).startswith("$") for name in wanted)


def _is_number(field: Any) -> bool:
    return isinstance(field, (int, float)) and not isinstance(field, bool)


def _is_column(field: Any) -> bool:
    """Return whether a number or a text can be a column."""
    if isinstance(field, str):
        return len(field) <= LONGEST and field.isprintable()
    return bool(-LARGEST < field < LARGEST)  # which no number is that is not finite
