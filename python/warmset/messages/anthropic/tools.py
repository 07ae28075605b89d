"""Anthropic Messages: the calls and results inside of messages.

The provider's own tools are not among them: their results are not the caller's to change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.anthropic import walk
from warmset.messages.anthropic.grammar import say_block
from warmset.messages.codec import encode
from warmset.messages.model import Answer, Message, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def uses(message: Message) -> list[Use]:
    """Return the tool calls of a message; see `Tools`."""
    return [
        Use(block["id"], block["name"], _arguments(block.get("input")))
        for block in walk.blocks(message)
        if block["type"] == walk.USE
    ]


def _arguments(given: Any) -> str:
    return given if isinstance(given, str) else encode({} if given is None else given)


def answers(message: Message) -> list[Answer]:
    """Return the tool results of a message; see `Tools`."""
    return [
        Answer(block["tool_use_id"], say_block(block), failed=block.get("is_error") is True)
        for block in walk.blocks(message)
        if block["type"] == walk.RESULT
    ]


def with_answers(message: Message, texts: Mapping[int, str]) -> Message:
    """Return a copy in which some results say another text; see `Tools`."""
    return _replaced(message, walk.RESULT, {at: {"content": text} for at, text in texts.items()})


def without_inputs(message: Message, calls: Collection[int]) -> Message:
    """Return a copy in which some calls have empty arguments; see `Tools`."""
    return _replaced(message, walk.USE, {at: {"input": {}} for at in calls})


def _replaced(message: Message, kind: str, fields: Mapping[int, Message]) -> Message:
    """Return a copy in which the n-th block of the kind has other fields."""
    content: list[Message] = []
    count = 0
    for block in walk.blocks(message):
        if block["type"] == kind:
            content.append(block | fields.get(count, {}))
            count += 1
        else:
            content.append(block)
    return message if not count else message | {"content": content}
