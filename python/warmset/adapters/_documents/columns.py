"""The metadata of a document as columns, by which the core filters without reading a payload."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.store.rows import ColumnValue

PARTIAL: Final = "\0partial"
"""A column that is true where some of the metadata is no column; such a document has to be read."""

TEXT: Final = 4_096
"""Characters of the longest text that is a column."""

NAME: Final = 255
"""Bytes of the longest name of a column."""

ALL: Final = 16_384
"""Characters that all names and texts of a document's columns may have; their bytes must be less
than what a record takes."""

_LARGEST: Final = 2**63


def columns_of(
    meta: Mapping[str, Any],
) -> dict[str, ColumnValue | list[ColumnValue]]:
    """Return the metadata that can be filtered by in the core.

    Args:
        meta: Names and values, plain JSON.

    Returns:
        The columns: scalars, and lists of scalars. `PARTIAL` is among them if anything was left
        out: mappings, nested lists, numbers beyond 64 bits, long texts,
        names that no column may have.
    """
    columns: dict[str, ColumnValue | list[ColumnValue]] = {}
    room, partial = ALL, False
    for name, value in meta.items():
        cost = _cost(value)
        if cost is None or not _is_name(name) or cost + len(name) > room:
            partial = True
            continue
        room -= cost + len(name)
        columns[name] = list(value) if isinstance(value, (list, tuple)) else value
    if partial:
        columns[PARTIAL] = True
    return columns


def _is_name(name: str) -> bool:
    return bool(name) and name[0] != "\0" and _is_clean(name) and len(name.encode()) <= NAME


def _cost(value: Any) -> int | None:
    """Return about how many characters a column takes; None for what cannot be one."""
    if isinstance(value, str):
        return len(value) if len(value) <= TEXT and _is_clean(value) else None
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return 8 if -_LARGEST <= value < _LARGEST else None
    if isinstance(value, float):
        return 8 if math.isfinite(value) else None
    if not isinstance(value, (list, tuple)) or len(value) > TEXT:
        return None
    costs = [None if isinstance(each, (list, tuple)) else _cost(each) for each in value]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _is_clean(text: str) -> bool:
    """Tell whether a text is UTF-8: one that has a half of a surrogate pair is not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
