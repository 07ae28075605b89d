"""Large results in pieces: what did not fit waits under a cursor.

For results that cannot be made twice, because making them changes the store. It is kept in this
process alone, the newest few; a cursor that is gone is an error that says what to do.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from warmset._support.locks import guarded, lock
from warmset.errors import InvalidInputError
from warmset.serve.tools.bounds import Room, part_of
from warmset.serve.tools.tool import compact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST: Final = 16
"""How many results wait at once; the oldest is given up for another one."""

_AROUND: Final = 24
"""Tokens around the beginning of an element that was cut."""


@guarded("self._lock", fields=("_waiting",))
class Pages:
    """The rests of results, by their cursors."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._lock = lock("pages")
        self._waiting: OrderedDict[str, tuple[dict[str, Any], tuple[str, ...]]] = OrderedDict()

    def first(
        self, made: dict[str, Any], lists: Sequence[str], limit: int | None
    ) -> dict[str, Any]:
        """Return as much of a result as the limit allows, with the cursor of the rest.

        Args:
            made: The result.
            lists: The members whose elements may wait, in the order in which they are shown.
            limit: The most tokens; None for no limit.

        Returns:
            The result itself if it fits, else one with `next_cursor`. At least one element is
            shown, so that each page goes on; one that is too large itself is cut, see `cut`.
        """
        if limit is None:
            return made
        room = Room(limit)
        room.take(compact_json({name: one for name, one in made.items() if name not in lists}))
        shown, rest = dict(made), dict[str, Any]()
        begun = False
        for name in lists:
            every = list(made[name])
            fits = 0
            while fits < len(every) and not rest and room.take(compact_json(every[fits])):
                begun, fits = True, fits + 1
            if fits < len(every) and not begun:
                every[fits] = cut(every[fits], room)
                begun, fits = True, fits + 1
            if fits < len(every):
                rest[name] = every[fits:]
            shown[name] = every[:fits]
        if rest:
            shown["next_cursor"] = self._keep({**made, **dict.fromkeys(lists, ()), **rest}, lists)
        return shown

    def next(self, cursor: object, limit: int | None) -> dict[str, Any]:
        """Return the page behind a cursor; asking for it once more gives the same page.

        Raises:
            InvalidInputError: There is none, or it was given up.
        """
        with self._lock:
            found = self._waiting.get(cursor) if isinstance(cursor, str) else None
        if found is None:
            raise InvalidInputError(
                "cursor: there is no such page, or it was given up for newer ones; make the call "
                "without a cursor again"
            )
        made, lists = found
        return self.first(dict(made), lists, limit)

    def clear(self) -> None:
        """Give all pages up, because what they hold may have been erased."""
        with self._lock:
            self._waiting.clear()

    def _keep(self, rest: dict[str, Any], lists: Sequence[str]) -> str:
        cursor = secrets.token_urlsafe(9)
        with self._lock:
            self._waiting[cursor] = rest, tuple(lists)
            while len(self._waiting) > self._most:
                self._waiting.popitem(last=False)
        return cursor


def cut(element: object, room: Room) -> dict[str, Any]:
    """Return what stands for an element that is too large for a page.

    Returns:
        `characters` of its JSON, and its `beginning`.
    """
    text = compact_json(element)
    part = part_of(text, 0, max(1, (room.left or 0) // 2 - _AROUND))
    return {"characters": len(text), "beginning": part.text}
