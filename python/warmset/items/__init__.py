"""Items stored besides conversations: memories, dropped turns, episodes."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.items.archive import Dropping, Episode, copies_of
    from warmset.items.erasure import erase, refresh
    from warmset.items.item import MemoryItem
    from warmset.items.memories import Memories

__all__ = [
    "Dropping",
    "Episode",
    "Memories",
    "MemoryItem",
    "copies_of",
    "erase",
    "refresh",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "archive": ["Dropping", "Episode", "copies_of"],
            "erasure": ["erase", "refresh"],
            "item": ["MemoryItem"],
            "memories": ["Memories"],
        },
    )
