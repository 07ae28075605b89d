"""Finds the messages of a list that a window shows, with or without their thinking."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Message, System
    from warmset.window.result import Window

_INSTRUCTING: Final = ("system", "developer")
_THINKING: Final = ("thinking", "redacted_thinking")


def is_thinking(block: Any) -> bool:
    """Tell whether a block of a message is a model's thinking."""
    return isinstance(block, dict) and block.get("type") in _THINKING


def without_thinking(message: Message) -> Message:
    """Return a message without its thinking; the same object if it has none."""
    content = message.get("content")
    if not isinstance(content, list) or not any(map(is_thinking, content)):
        return message
    return {**message, "content": [block for block in content if not is_thinking(block)]}


def parted(window: Window, *, given: bool) -> tuple[System | None, list[Message]]:
    """Return the system prompt of a window, and its messages without it.

    Neighbours of one role, such as the results of several calls, are messages of their own here:
    frameworks have them so, and merge them themselves where a provider wants that.

    Args:
        window: The window.
        given: Whether it was made with a system prompt beside its messages.
    """
    messages: list[Message] = window.messages
    if window.dialect == "anthropic" and window.sent is not None:
        return window.system, list(window.sent.messages)
    if given and window.system is None and messages and messages[0]["role"] in _INSTRUCTING:
        return messages[0]["content"], messages[1:]
    return window.system, messages


def places(window: Sequence[Message], sent: Sequence[Message]) -> list[int | None]:
    """Return where each message of a window stands in the list that it was made of.

    Messages of a window keep their order, and the newest of a list are shown most of the time. So
    the search goes backwards, and of equal messages the last one is taken that is left.

    Args:
        window: The window's messages.
        sent: The list.

    Returns:
        A place for each; None for what is not in the list. A message whose thinking the window
        leaves out is found, too.
    """
    known: dict[str, list[int]] = {}
    for place, message in enumerate(sent):
        known.setdefault(_form(message), []).append(place)
        bare = without_thinking(message)
        if bare is not message:
            known.setdefault(_form(bare), []).append(place)
    found: list[int | None] = []
    end = len(sent)
    for message in reversed(window):
        same = known.get(_form(message), [])
        while same and same[-1] >= end:
            same.pop()
        if not same:
            found.append(None)
            continue
        end = same.pop()
        found.append(end)
    found.reverse()
    return found


def _form(message: Message) -> str:
    return json.dumps(message, sort_keys=True)
