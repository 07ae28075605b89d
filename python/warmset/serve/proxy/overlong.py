"""Whether an upstream says that a request is too long, and how much shorter the next one is."""

from __future__ import annotations

import json
from typing import Any, Final

from warmset.evict.overflow import is_overflow

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
