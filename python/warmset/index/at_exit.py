"""Ends threads before the interpreter does.

A daemon thread that is inside a library's code when the interpreter ends is torn out of it, and may
take the whole process down with it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
import weakref
from contextlib import suppress
from typing import Final, Protocol

from warmset._support.deadlines import time_left
from warmset._support.ending import ENDING, died_of_ctrl_c, is_interrupted

GRACE: Final = 10.0
"""Seconds that all threads together get to come out of what they are in."""

SOON: Final = 0.5
"""Seconds that they get after Ctrl-C."""


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
    ENDING.set()
    end = time.monotonic() + (SOON if is_interrupted() else GRACE)
    for one, process in list(_threads.items()):
        if process == os.getpid():  # a fork has no threads but the one that made it
            one.stop(time_left(end))
    if time.monotonic() >= end and died_of_ctrl_c():
        _die()


def _die() -> None:
    """End the process as Python does after Ctrl-C, by the signal, but at once."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
