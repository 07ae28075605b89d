"""Removes records of payloads that have expired, a few at a time, so that their bytes can go.

Nothing else of the log is removed: what others keep there may go by a clock of their own.
"""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from warmset.errors import WarmsetError
from warmset.store.rows import RemoveExpired

if TYPE_CHECKING:
    from warmset._core import Listed
    from warmset.store.log import Log
    from warmset.store.rows import Key

EVERY: Final = 32
"""With one of how many records that are written some are looked at."""

LOOKED_AT: Final = 256
"""How many cells are looked at then."""

_BEGINNING: Final = 0
"""A time at which nothing had expired yet."""


class Expiry:
    """Looks for expired cells below a prefix, from the oldest one on, and then from the beginning.

    Args:
        prefix: What the keys of the cells begin with.
    """

    def __init__(self, prefix: Key) -> None:
        self._prefix = prefix
        self._calls = count()
        self._after: Listed | None = None

    def tend(self, log: Log) -> None:
        """Remove some of what has expired, at the first call and at each of so many.

        What cannot be removed now is removed later.
        """
        if next(self._calls) % EVERY:
            return
        with suppress(WarmsetError):
            self._remove(log)

    def _remove(self, log: Log) -> None:
        found = log.scan(
            self._prefix, order="born", after=self._after, limit=LOOKED_AT, now=_BEGINNING
        )
        self._after = found[-1] if len(found) == LOOKED_AT else None
        now = time.time() * 1_000_000
        gone = [one.key for one in found if one.expires is not None and one.expires <= now]
        if gone:
            log.write([RemoveExpired(key) for key in gone], sync=False)
