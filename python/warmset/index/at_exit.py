"""Ends threads before the interpreter does.

A daemon thread that is inside a library's code when the interpreter ends is torn out of it, and may
take the whole process down with it.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Final, Protocol

GRACE: Final = 10.0
"""Seconds that all threads together get to come out of what they are in."""


class Stoppable(Protocol):
    """Has a thread."""

    def stop(self, seconds: float, /) -> None:
        """Begin nothing more, and wait at most so many seconds until the thread has ended."""
        ...


_threads: weakref.WeakKeyDictionary[Stoppable, int] = weakref.WeakKeyDictionary()


def stop_at_exit(one: Stoppable) -> None:
    """Have something stopped when this process ends; it is not kept alive for that."""
    _threads[one] = os.getpid()


@atexit.register
def _stop_all() -> None:
    left = GRACE
    for one, process in list(_threads.items()):
        if process != os.getpid():  # a fork has no threads but the one that made it
            continue
        begun = time.monotonic()
        one.stop(max(left, 0.0))
        left -= time.monotonic() - begun
