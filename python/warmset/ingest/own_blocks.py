"""Quotations of memories in a list that is sent back, which are ours and never stored as turns.

A window that this process made is recognised by what it held. One that another process made, or
whose memories changed since, is recognised by the words that begin and end such a quotation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from warmset.text.markup import MEMORY_CLOSING, MEMORY_TAG, PINNED, RECALLED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.ingest.given_list import GivenList
    from warmset.messages import Message

_BLOCK: Final = re.compile(
    rf"(?:\A|\n\n)(?:{re.escape(PINNED)}|{re.escape(RECALLED)})"
    rf"(?:(?!</?{MEMORY_TAG}>).)*{re.escape(MEMORY_CLOSING)}\s*\Z",
    re.DOTALL,
)
"""A whole text, or what stands at the end of a system prompt."""

_HOLDS: Final = ("content", "parts")
"""Fields with the parts of a message."""


def own_blocks(listed: GivenList, places: Iterable[int]) -> dict[int, Message | None]:
    """Return the messages of a list without our quotations, by their positions.

    Args:
        listed: The list.
        places: The positions to look at.

    Returns:
        Those that have such a quotation; None for one that has nothing else.
    """
    found: dict[int, Message | None] = {}
    for at in places:
        message = listed.message(at)
        left = _without(message)
        if left is not message:
            found[at] = left
    return found


def _without(message: Message) -> Message | None:
    """Return a message without our quotations; the same object if it has none."""
    for field in _HOLDS:
        held: object = message.get(field)
        if isinstance(held, str):
            left = _plain(held)
            if left == held:
                continue
            return {**message, field: left} if left.strip() else None
        if isinstance(held, list):
            parts: list[Any] = held
            rest = [part for part in parts if not _is_block(part)]
            if len(rest) < len(parts):
                return {**message, field: rest} if rest else None
    return message


def _is_block(part: object) -> bool:
    text: object = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
    return isinstance(text, str) and text != "" and not _plain(text).strip()


def _plain(text: str) -> str:
    return _BLOCK.sub("", text) if MEMORY_TAG in text else text
