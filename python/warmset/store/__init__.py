"""How records lie in the cold store, and how a store is opened."""

from typing import TYPE_CHECKING

from warmset._lazy import lazy

if TYPE_CHECKING:
    from warmset.store.options import StoreKeywords, StoreOptions

__all__ = [
    "StoreKeywords",
    "StoreOptions",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "options": ["StoreKeywords", "StoreOptions"],
    },
)
