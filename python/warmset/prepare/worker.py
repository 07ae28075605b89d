"""Where a summariser runs, so that no window does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol

from warmset._log import room, watched

if TYPE_CHECKING:
    from collections.abc import Callable

LOG: Final = room("prepare")


class Ticket(Protocol):
    """A task that was begun."""

    def wait(self, seconds: float, /) -> bool:
        """Wait for its end at most so long; tells whether it has ended."""
        ...


class Worker(Protocol):
    """Runs tasks beside the caller."""

    def start(self, task: Callable[[], None], /) -> Ticket:
        """Begin a task; it raises nothing."""
        ...


class Threads:
    """A thread for each task; it does not keep the process from ending."""

    def start(self, task: Callable[[], None], /) -> Ticket:
        """Begin a task in a thread of its own."""
        done = threading.Event()

        def run() -> None:
            try:
                with watched(LOG):
                    task()
            finally:
                done.set()

        threading.Thread(target=run, name="warmset-prepare", daemon=True).start()
        return done
