"""The Rust core by itself: the cold store, the exact index, packing under a budget.

These classes work on ids, counts, bytes, terms and vectors, and know nothing about messages or
models. `Memory` is built on them; use them directly if you have your own storage of messages or
your own vectors.
"""

from warmset._core import (
    ColdStore,
    HotIndex,
    LexicalIndex,
    Record,
    SearchExplanation,
    keep_newest,
    pack,
    pack_batch,
    simd_tier,
    simd_tiers,
    terms,
)

__all__ = [
    "ColdStore",
    "HotIndex",
    "LexicalIndex",
    "Record",
    "SearchExplanation",
    "keep_newest",
    "pack",
    "pack_batch",
    "simd_tier",
    "simd_tiers",
    "terms",
]
