"""The thread of something that works in the background: one at a time, and ended at exit."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from warmset._support.locks import guarded
from warmset._support.log import watched
from warmset.index.at_exit import stop_at_exit

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from logging import Logger

    from warmset.index.at_exit import Stoppable


@guarded("self._lock", writes=("_thread",), calls=("begin",))
class Background:
    """Has one thread at a time, also where Ctrl-C cuts off the start of one.

    Args:
        name: The thread's name.
        log: Gets the error that ends it, if one does.
        lock: The owner's lock or condition, which it holds while it begins the thread.
    """

    def __init__(self, name: str, log: Logger, lock: AbstractContextManager[Any]) -> None:
        self._name = name
        self._log = log
        self._lock = lock
        self._thread: threading.Thread | None = None

    def begin(self, owner: Stoppable, work: Callable[[], None]) -> bool:
        """Start the thread, unless it runs.

        Args:
            owner: What is stopped when the process ends; it is not kept alive for that.
            work: What the thread does, which ends when its owner is stopped.

        Returns:
            Whether it was started.
        """
        if self._thread is not None and self._thread.is_alive():
            return False
        stop_at_exit(owner)
        self._thread = threading.Thread(
            target=self._run, args=(work,), name=self._name, daemon=True
        )
        self._thread.start()
        return True

    def join(self, seconds: float) -> bool:
        """Wait at most so many seconds until the thread has ended; not under the lock.

        Returns:
            Whether none runs. True for the thread itself, which does not wait for its own end.
        """
        thread = self._thread  # another call may begin a new one
        # Ctrl-C may come between making a thread and starting it.
        if thread is None or thread.ident is None or thread is threading.current_thread():
            return True
        thread.join(seconds)
        return not thread.is_alive()

    def _run(self, work: Callable[[], None]) -> None:
        with self._lock:
            # Where Ctrl-C cut off its start, another one may have been begun before it ran.
            replaced = self._thread is not threading.current_thread()
        if not replaced:
            with watched(self._log):
                work()
