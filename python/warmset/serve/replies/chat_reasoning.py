"""`reasoning_details`, a list of blocks that some servers stream in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.serve.replies.growing import grow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_GROWS: Final = frozenset({"reasoning.text", "reasoning.summary"})


def add_details(into: list[dict[str, Any]], pieces: Iterable[Mapping[str, Any]]) -> None:
    """Add pieces of blocks to a list of them.

    A piece goes on with the last block if that has the same type and index, and is a text; every
    other piece is a block of its own.
    """
    for piece in pieces:
        last = into[-1] if into else {}
        goes_on = all(last.get(name) == piece.get(name) for name in ("type", "index"))
        if not (into and goes_on and piece.get("type") in _GROWS):
            into.append({})
        grow(into[-1], piece)
