"""The records of the cold store, and the options to open one."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.store.options import StoreKeywords, StoreOptions

__all__ = [
    "StoreKeywords",
    "StoreOptions",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "options": ["StoreKeywords", "StoreOptions"],
        },
    )
