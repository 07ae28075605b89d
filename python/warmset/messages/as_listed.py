"""Stored messages as a caller's list has them: without thinking, with the list's cache marks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from warmset.messages.canonical import (
    THINKING_FIELDS,
    TOOLS_OWN,
    is_item_of_thinking,
    is_reply,
    is_thinking_block,
)
from warmset.messages.mending import CONTINUED
from warmset.messages.prefix import MARKS

if TYPE_CHECKING:
    from warmset.messages.canonical import Mark, Marks
    from warmset.messages.model import Message


def count_thinking(message: Message) -> int:
    """Count the blocks and fields of thinking in a message."""
    if is_item_of_thinking(message):
        return 1
    if not is_reply(message):
        return 0
    blocks = message.get("parts", message.get("content"))
    inside = sum(map(is_thinking_block, blocks)) if isinstance(blocks, list) else 0
    return inside + sum(bool(message.get(field)) for field in THINKING_FIELDS)


def without_thinking(message: Message) -> Message | None:
    """Return a message without the model's thinking; None if nothing is left of it.

    The same object if it has none. A reply of which nothing is left gets a text, for an empty one
    is refused.
    """
    if is_item_of_thinking(message):
        return None
    if not count_thinking(message):
        return message
    made = {key: value for key, value in message.items() if key not in THINKING_FIELDS}
    for field, block in (("content", {"type": "text"}), ("parts", {})):
        if isinstance(blocks := made.get(field), list):
            rest = [one for one in blocks if not is_thinking_block(one)]
            made[field] = rest or [block | {"text": CONTINUED}]
    return made


def with_marks(message: Message, marks: Marks) -> Message:
    """Return a message with other cache marks; those that it has leave."""
    made: Message = _unmarked(message)
    for mark in marks:
        place = _place(made, mark)
        if place is not None:
            place[mark.field] = json.loads(mark.value)
    return made


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: one if key in TOOLS_OWN else _unmarked(one)
            for key, one in value.items()
            if key not in MARKS
        }
    return [_unmarked(one) for one in value] if isinstance(value, list) else value


def _place(message: Message, mark: Mark) -> dict[str, Any] | None:
    """Return the part of a message that a mark stands at; a text becomes a block for it."""
    at: Any = message
    for step in mark.path:
        if isinstance(step, int):
            spoken = [one for one in at if not is_thinking_block(one)]
            at = spoken[step]
        else:
            if isinstance(at[step], str):
                at[step] = [{"type": mark.kind or "text", "text": at[step]}]
            at = at[step]
    return at if isinstance(at, dict) else None
