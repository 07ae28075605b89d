"""The tool calls of a stream of Chat Completions, whose pieces belong together by their index.

Some servers leave the index out, have index 0 for all calls, or repeat the id or the name with each
piece.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from warmset.serve.replies.growing import Growing, grow

if TYPE_CHECKING:
    from collections.abc import Mapping


class Calls:
    """The calls of one message, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}

    def all(self) -> list[dict[str, Any]]:
        """Return the calls as they are now."""
        return self._calls

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add a piece to the call that it belongs to; the index is not kept."""
        call = self._call_of(piece)
        for name, value in piece.items():
            if name == "index" or value is None:
                continue
            if isinstance(value, dict):
                _add_fields(call.setdefault(name, {}), value)
            else:
                grow(call, {name: value})

    def _call_of(self, piece: Mapping[str, Any]) -> dict[str, Any]:
        index = piece.get("index")
        known = self._without_index(piece) if index is None else self._by_index.get(index)
        if known is None or (index is not None and _is_another(known, piece)):
            known = {}
            self._calls.append(known)
        if index is not None:
            self._by_index[index] = known
        return known

    def _without_index(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        if id_ := piece.get("id"):
            return next((call for call in self._calls if call.get("id") == id_), None)
        last = self._calls[-1] if self._calls else None
        is_new = last is not None and _name(piece) and _name(last) and _has_arguments(last)
        return None if is_new else last


def _is_another(known: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Tell whether a piece begins another call, though it has the index of one that is known."""
    ids = known.get("id"), piece.get("id")
    return all(ids) and ids[0] != ids[1] and bool(_name(piece))


def _add_fields(into: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add the fields of a function; a name that comes again is no second half of it."""
    name = piece.get("name")
    if name and str(into.get("name", "")) == name:
        piece = {field: value for field, value in piece.items() if field != "name"}
    grow(into, piece)


def _name(call: Mapping[str, Any]) -> str:
    return str((call.get("function") or {}).get("name") or "")


def _has_arguments(call: Mapping[str, Any]) -> bool:
    found = call["function"].get("arguments")
    if not isinstance(found, Growing):
        return False
    try:
        json.loads(str(found))
    except ValueError:
        return False
    return True
