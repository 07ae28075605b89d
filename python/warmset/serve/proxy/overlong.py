"""Whether an upstream says that a request is too long, and how much shorter the next one is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.evict.overflow import is_overflow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STATUSES: Final = (400, 413)
"""Statuses of answers that may say so."""

STEP: Final = 0.75
"""The share of its tokens that a request may have once the provider found it too long."""

MOST_SAID: Final = 64 << 10
"""Bytes of an error that are read to see whether it says so."""


class _ToldError(Exception):
    """What a provider said of a request, as `is_overflow` reads it."""

    def __init__(self, status: int, said: bytes) -> None:
        super().__init__(said.decode("utf-8", "replace"))
        self.status_code = status
        try:
            self.body: Any = json.loads(said)
        except (ValueError, RecursionError):
            self.body = None


def too_long(status: int, said: bytes) -> bool:
    """Return whether an answer says that a request is too long.

    Args:
        status: Its status.
        said: Its body.
    """
    return status in STATUSES and is_overflow(_ToldError(status, said))


async def begun(chunks: AsyncIterator[bytes], into: list[bytes]) -> bool:
    """Read the beginning of an error, as far as it is looked at; return whether that is all of it.

    Args:
        chunks: Its pieces, as they arrive.
        into: Gets those that were read, also if more of them break off.
    """
    size = 0
    async for chunk in chunks:
        into.append(chunk)
        size += len(chunk)
        if size > MOST_SAID:
            return False
    return True
