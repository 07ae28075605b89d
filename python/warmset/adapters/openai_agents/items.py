"""How items lie in a list of the log: an entry holds a few of them, as a JSON array.

A turn is one or two entries of one item; a history that is added at once takes an entry for each 64
items, which is read and written several times as fast as one for each.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.adapters.place import PAGE
from warmset.native import Add

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import Entry
    from warmset.native import Log
    from warmset.store.rows import Key

TOGETHER: Final = 64
"""The most items of an entry: taking one back writes the others of its entry again."""

_encode = json.JSONEncoder(separators=(",", ":")).encode


def rows(list_: Key, items: Sequence[Any]) -> list[Add]:
    """Return what adds items to a list.

    Raises:
        TypeError: An item is not what JSON can hold.
    """
    parts = (items[at : at + TOGETHER] for at in range(0, len(items), TOGETHER))
    return [Add(list_, _encode(part).encode()) for part in parts]


def read(entry: Entry) -> list[Any]:
    """Return the items of an entry."""
    found: list[Any] = json.loads(entry.payload)
    return found


def newest(log: Log, list_: Key, count: int) -> tuple[list[tuple[Entry, list[Any]]], bool]:
    """Return the last entries of a list, as many as hold a number of items.

    Args:
        log: The log.
        list_: The list's key.
        count: The number of items, at least 1.

    Returns:
        The entries in order, each with its items; whether these are all entries.
    """
    limit = min(count, PAGE)
    while True:
        found: list[tuple[Entry, list[Any]]] = []
        held = 0
        entries = log.entries(list_, limit=limit, reverse=True)
        for entry in entries:
            items = read(entry)
            found.append((entry, items))
            held += len(items)
            if held >= count:
                break
        if held >= count or len(entries) < limit:
            return found[::-1], not found or not found[-1][0].parent
        limit *= 4
