"""How items lie in a list of the log: an entry holds a few of them, as a JSON array.

A turn is one or two entries of one item; a history that is added at once takes an entry for each 64
items, which is read and written several times as fast as one for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.adapters.as_json import all_loaded, dumped, loaded
from warmset.adapters.place import PAGE
from warmset.native import Add

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Entry
    from warmset.native import Log
    from warmset.store.rows import Key

TOGETHER: Final = 64
"""The most items of an entry: taking one back writes the others of its entry again."""

FIRST: Final = 4
"""Entries that are read at first for the newest items; four times as many each time after that."""


def rows(list_: Key, items: Sequence[Any]) -> list[Add]:
    """Return what adds items to a list.

    Raises:
        TypeError: An item is not what JSON can hold.
    """
    parts = (items[at : at + TOGETHER] for at in range(0, len(items), TOGETHER))
    return [Add(list_, dumped(part)) for part in parts]


def read(entry: Entry) -> list[Any]:
    """Return the items of an entry."""
    found: list[Any] = loaded(entry.payload)
    return found


def read_all(entries: Iterable[Entry]) -> list[Any]:
    """Return the items of entries, in order."""
    return [item for items in all_loaded(one.payload for one in entries) for item in items]


def newest(log: Log, list_: Key, count: int) -> tuple[list[tuple[Entry, list[Any]]], bool]:
    """Return the last entries of a list, as many as hold a number of items.

    Args:
        log: The log.
        list_: The list's key.
        count: The number of items, at least 1.

    Returns:
        The entries in order, each with its items; whether these are all entries.
    """
    found: list[tuple[Entry, list[Any]]] = []
    held, limit, last = 0, FIRST, None
    while page := log.entries(list_, after=last, limit=limit, reverse=True):
        if found and page[0].id != found[-1][0].parent:  # it was cut meanwhile
            found, held, limit, last = [], 0, FIRST, None
            continue
        for entry in page:
            items = read(entry)
            found.append((entry, items))
            held += len(items)
            if held >= count:
                return found[::-1], not entry.parent
        limit, last = min(limit * 4, PAGE), page[-1].id
    return found[::-1], True
