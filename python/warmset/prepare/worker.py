"""Runs summarizers in the background, so that windows need not wait."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol

from warmset._support.log import room, watched

if TYPE_CHECKING:
    from collections.abc import Callable

LOG: Final = room("prepare")


class Ticket(Protocol):
    """A task that was started."""

    def wait(self, seconds: float, /) -> bool:
        """Wait for its end for at most some seconds; return whether it has ended."""
        ...


class Worker(Protocol):
    """Runs tasks in the background."""

    def start(self, task: Callable[[], None], /) -> Ticket:
        """Start a task, which must not raise."""
        ...


class Threads:
    """Runs each task in a daemon thread, which does not keep the process alive."""

    def start(self, task: Callable[[], None], /) -> Ticket:
        """Start a task in a thread of its own."""
        done = threading.Event()

        def run() -> None:
            try:
                with watched(LOG):
                    task()
            finally:
                done.set()

        threading.Thread(target=run, name="warmset-prepare", daemon=True).start()
        return done
