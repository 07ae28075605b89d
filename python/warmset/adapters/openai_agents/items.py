"""How items lie in a list of the log: an entry holds a few of them, JSON, one a line.

A turn is one or two entries of one item; a history that is added at once takes an entry for each 16
items, which is read and written several times as fast as one for each. JSON of one line holds no
line feed, so an item is taken off an entry without reading the others.
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

TOGETHER: Final = 16
"""The most items of an entry: taking one back writes the others of its entry again."""

END: Final = b"\n"
"""What stands between two items."""

FIRST: Final = 4
"""Entries that are read at first for the newest items; four times as many each time after that."""


def rows(list_: Key, items: Sequence[Any]) -> list[Add]:
    """Return what adds items to a list.

    Raises:
        TypeError: An item is not what JSON can hold.
    """
    parts = (items[at : at + TOGETHER] for at in range(0, len(items), TOGETHER))
    return [Add(list_, END.join(map(dumped, part))) for part in parts]


def read(entry: Entry) -> list[Any]:
    """Return the items of an entry."""
    return read_all([entry])


def read_all(entries: Iterable[Entry]) -> list[Any]:
    """Return the items of entries, in order."""
    return all_loaded(one.payload.replace(END, b",") for one in entries)


def without_last(list_: Key, entry: Entry) -> tuple[Any, list[Add]]:
    """Return the last item of an entry, and what adds the others of it again."""
    before, _, last = entry.payload.rpartition(END)
    return loaded(last), [Add(list_, before)] if before else []


def newest(log: Log, list_: Key, count: int) -> tuple[list[tuple[Entry, list[Any]]], bool]:
    """Return the last entries of a list, as many as hold a number of items.

    Args:
        log: The log.
        list_: The list's key.
        count: The number of items, at least 1.

    Returns:
        The entries in order, each with its items; whether these are all entries.
    """
    while (read_ := _newest(log, list_, count)) is None:
        pass
    return read_


def _newest(log: Log, list_: Key, count: int) -> tuple[list[tuple[Entry, list[Any]]], bool] | None:
    """Return what `newest` does; None if the list was cut meanwhile."""
    found: list[tuple[Entry, list[Any]]] = []
    held, limit = 0, FIRST
    while page := log.entries(
        list_, after=found[-1][0].id if found else None, limit=limit, reverse=True
    ):
        for entry in page:
            if found and entry.id != found[-1][0].parent:
                return None
            items = read(entry)
            found.append((entry, items))
            held += len(items)
            if held >= count:
                return found[::-1], not entry.parent
        limit = min(limit * 4, PAGE)
    return (found[::-1], True) if not found or not found[-1][0].parent else None
