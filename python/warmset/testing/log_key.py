"""Keys, ids and times of a log in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.store.rows import Moment

Parts: TypeAlias = tuple[bytes, ...]
"""A key as it comes back."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_PARTS, _MOST_BYTES = 32, 16 << 10


def as_key(given: Any, *, empty: bool = False) -> Parts:
    """Return the parts of a key as bytes.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(given, tuple | list) or not (given or empty):
        raise InvalidInputError(f"key: expected a tuple of bytes or str, found {given!r:.80}")
    parts = tuple(part.encode() if isinstance(part, str) else part for part in given)
    if not all(isinstance(part, bytes) for part in parts):
        raise InvalidInputError(f"key: expected parts of bytes or str, found {given!r:.80}")
    if len(parts) > _MOST_PARTS or sum(map(len, parts)) > _MOST_BYTES:
        raise InvalidInputError("key: expected at most 32 parts and 16 KiB")
    return parts


def is_below(key: Parts, prefix: Parts) -> bool:
    """Return whether a key begins with the parts of a prefix."""
    return key[: len(prefix)] == prefix


def as_id(given: Any) -> int:
    """Return an id.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < 2**64:
        raise InvalidInputError(f"id: expected an integer from 0, found {given!r:.80}")
    return given


def micros(given: Moment) -> int:
    """Return a moment in microseconds since 1970 UTC.

    Raises:
        InvalidInputError: It is none.
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if not isinstance(given, datetime) or given.tzinfo is None:
        raise InvalidInputError(f"a moment: expected microseconds or a datetime, found {given!r}")
    return (given - _EPOCH) // timedelta(microseconds=1)
