"""What was sent last, so that the next window can tell how much of its front is the same."""

from __future__ import annotations

from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING

from warmset._core import content_hash
from warmset.counting import message_tokens
from warmset.messages import dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Message


class Sent:
    """The messages of a window, by what tells them apart; their texts are not kept.

    Args:
        messages: The messages.
    """

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._marks = tuple(map(_mark, messages))
        self._counted: list[int] = []

    def cached(self, messages: Sequence[Message], before: Sent, encoding: str) -> int:
        """Count the tokens at the front that are the same as in the window before.

        Args:
            messages: The messages.
            before: The window before.
            encoding: The vocabulary.
        """
        same = sum(takewhile(bool, map(eq, self._marks, before._marks)))
        known = before._counted[:same]
        fresh = messages[len(known) : same]
        self._counted = [*known, *message_tokens(fresh, encoding)] if fresh else known
        return sum(self._counted)


def _mark(message: Message) -> int | bytes:
    """Tell a message from others, with the order of its keys."""
    if all(isinstance(value, str) for value in message.values()):
        return hash(tuple(message.items()))
    return content_hash(dumps(message))
