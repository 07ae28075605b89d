"""The results of an erasure, of a rewrite of segments, and of a batch left for another writer."""

from __future__ import annotations

from dataclasses import dataclass


class Spooled(list[int]):
    """A batch that was stored in the spool because the store was busy.

    It is durable, and the next writer appends it exactly once. It is returned in place of ids and
    is empty: its records get their ids when they are appended.

    Args:
        token: Identifies the batch.
    """

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def __repr__(self) -> str:
        return f"Spooled({self.token!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spooled) and other.token == self.token

    def __ne__(self, other: object) -> bool:  # a list has its own
        return not self == other

    __hash__ = None

    def __reduce__(self) -> tuple[type[Spooled], tuple[str]]:
        return Spooled, (self.token,)


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """The counts of an erasure.

    Args:
        records: Erased records in the scope that was given.
        derived: Erased records outside of that scope that were derived from them.
        keys: Encryption keys that were removed.
    """

    records: int
    derived: int
    keys: int

    def __add__(self, other: ErasureResult) -> ErasureResult:
        return ErasureResult(
            self.records + other.records, self.derived + other.derived, self.keys + other.keys
        )

    def as_derived(self) -> ErasureResult:
        """Return it as a part of another erasure, of which all that it erased was derived."""
        return ErasureResult(0, self.records + self.derived, self.keys)


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """The counts of a rewrite of a store's segments.

    Args:
        segments: Segments that were rewritten.
        records: Records that were removed from them.
        bytes: Bytes that were freed.
    """

    segments: int
    records: int
    bytes: int
