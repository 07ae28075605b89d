"""What a store says after an erasure, a compaction, or a batch left for another writer."""

from __future__ import annotations

from dataclasses import dataclass


class Spooled(list[int]):
    """A batch that found the store busy: it is durable, and the next writer takes it up once.

    It stands where ids would be and has none: they are given when it is taken up.

    Args:
        token: What it is known by.
    """

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def __repr__(self) -> str:
        return f"Spooled({self.token!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spooled) and other.token == self.token

    __hash__ = None

    def __reduce__(self) -> tuple[type[Spooled], tuple[str]]:
        return Spooled, (self.token,)


@dataclass(frozen=True, slots=True)
class ErasureResult:
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
class RewriteResult:
    """What writing a store's segments anew came to.

    Args:
        segments: Segments that were written anew.
        records: Records that are gone from them.
        bytes: Bytes that were given back.
    """

    segments: int
    records: int
    bytes: int
