"""The Rust core by itself: the cold store, the log, the exact index, packing under a budget.

These classes work on ids, counts, bytes, terms and vectors, and know nothing about messages or
models. `Memory` is built on them; use them directly if you have your own storage of messages or
your own vectors.
"""

from typing import TYPE_CHECKING

from warmset._core import (
    Cell,
    Change,
    ColdStore,
    Entry,
    HotIndex,
    LexicalIndex,
    Listed,
    Outcome,
    Record,
    SearchExplanation,
    keep_newest,
    pack,
    pack_batch,
    simd_tier,
    simd_tiers,
    space,
    terms,
)
from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.store.changes import Changes
    from warmset.store.conditions import Tail, Version
    from warmset.store.log import Log
    from warmset.store.rows import (
        Add,
        Cut,
        Patch,
        Put,
        Remove,
        RemoveBelow,
        RemoveEntries,
        RemoveExpired,
    )
    from warmset.store.views import Copied, View

__all__ = [
    "Add",
    "Cell",
    "Change",
    "Changes",
    "ColdStore",
    "Copied",
    "Cut",
    "Entry",
    "HotIndex",
    "LexicalIndex",
    "Listed",
    "Log",
    "Outcome",
    "Patch",
    "Put",
    "Record",
    "Remove",
    "RemoveBelow",
    "RemoveEntries",
    "RemoveExpired",
    "SearchExplanation",
    "Tail",
    "Version",
    "View",
    "keep_newest",
    "pack",
    "pack_batch",
    "simd_tier",
    "simd_tiers",
    "space",
    "terms",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "store.changes": ["Changes"],
            "store.views": ["Copied", "View"],
            "store.conditions": ["Tail", "Version"],
            "store.log": ["Log"],
            "store.rows": [
                "Add",
                "Cut",
                "Patch",
                "Put",
                "Remove",
                "RemoveBelow",
                "RemoveEntries",
                "RemoveExpired",
            ],
        },
        root="warmset",
    )
