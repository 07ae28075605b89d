"""Messages that one window after the other shows whole, read once; each is handed out as a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages import Message

MOST: Final = 64
"""Messages that are kept: what stands whole in the windows of a few conversations."""

LARGEST: Final = 32_768
"""Characters of a message that is kept."""


class Copies:
    """Messages of one store that were read lately.

    Args:
        read: Reads a message.
    """

    def __init__(self, read: Callable[[int], Message]) -> None:
        self._read = read
        self._kept: dict[int, Message] = {}
        self._cleared = 0

    def get(self, id_: int) -> Message:
        """Return a message that is the caller's own.

        Raises:
            NotFound: No message has that id.
            StoreError: It could not be read.
        """
        known = self._kept.get(id_)
        if known is not None:
            return known.copy()
        cleared = self._cleared
        message = self._read(id_)
        if _flat(message) and cleared == self._cleared:
            if len(self._kept) >= MOST:
                self._kept = {}
            self._kept[id_] = message.copy()
        return message

    def clear(self) -> None:
        """Forget everything, what is just being read too: it may have been erased meanwhile."""
        self._cleared += 1
        self._kept = {}


def _flat(message: Message) -> bool:
    """Tell whether a message has only texts, and few: then a copy of it shares nothing."""
    return (
        sum(len(text) if isinstance(text, str) else LARGEST for text in message.values()) < LARGEST
    )
