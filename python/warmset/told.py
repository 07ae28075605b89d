"""What a store says after an erasure, a compaction, or a batch left for another writer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spooled:
    """A batch that found the store busy: it is durable, and the next writer takes it up once.

    Args:
        token: What it is known by.
    """

    token: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What an erasure concerned.

    Args:
        records: Records in the scope.
        derived: Records outside of it that were made from them.
        keys: Keys that were removed.
    """

    records: int
    derived: int
    keys: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction came to.

    Args:
        segments: Segments that were written anew.
        records: Records that are gone from them.
        bytes: Bytes that were given back.
    """

    segments: int
    records: int
    bytes: int
