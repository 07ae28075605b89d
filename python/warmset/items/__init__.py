"""Items stored besides conversations: memories, dropped turns, episodes."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.items.archive import Dropping, Episode, copies_of
    from warmset.items.consolidate import Consolidation, ConsolidationPolicy
    from warmset.items.documents import Document
    from warmset.items.erasure import erase, refresh
    from warmset.items.item import MemoryItem, Origin
    from warmset.items.items import Items
    from warmset.items.memories import Memories
    from warmset.items.new import NewItem

__all__ = [
    "Consolidation",
    "ConsolidationPolicy",
    "Document",
    "Dropping",
    "Episode",
    "Items",
    "Memories",
    "MemoryItem",
    "NewItem",
    "Origin",
    "copies_of",
    "erase",
    "refresh",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "archive": ["Dropping", "Episode", "copies_of"],
            "consolidate": ["Consolidation", "ConsolidationPolicy"],
            "documents": ["Document"],
            "erasure": ["erase", "refresh"],
            "item": ["MemoryItem", "Origin"],
            "items": ["Items"],
            "memories": ["Memories"],
            "new": ["NewItem"],
        },
    )
