"""Waiting for a model no longer than asked, whatever its client does."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from typing import TYPE_CHECKING, Any, Final

from warmset._support.forks import Lock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST: Final = 8
"""Calls that were given up and still run; more of them would be a leak."""


class OutOfTimeError(Exception):
    """There was no answer in time."""


class TooManyCallsError(OutOfTimeError):
    """Too many earlier calls still wait for their answers."""


class Deadline:
    """Runs calls in threads of their own, and gives up on them after a while.

    A thread cannot be stopped: a call that was given up ends when its client lets go, and its
    answer is dropped. With eight of those at a time, further calls fail at once.

    Args:
        seconds: How long to wait for a call.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = Lock()
        self._stray = 0

    def run(self, call: Callable[[], Any], *, seconds: float | None = None) -> Any:
        """Call, and wait.

        Args:
            call: What to call; if it returns an awaitable, that runs in an event loop of its own,
                and is cancelled when the time is over.
            seconds: How long to wait for this call, if not as long as for others.

        Returns:
            What it returned.

        Raises:
            OutOfTimeError: It did not return in time.
            TooManyCallsError: It was not called, as too many others still run.
            Exception: What the call raised.
        """
        wait = self.seconds if seconds is None else seconds
        with self._lock:
            if self._stray >= MOST:
                raise TooManyCallsError(
                    f"{MOST} earlier calls were given up and have not ended yet"
                )
        one = _Call(call, wait)
        thread = threading.Thread(target=self._run, args=(one,), name="warmset-llm", daemon=True)
        thread.start()
        if not one.done.wait(wait):
            with self._lock:
                if not one.done.is_set():
                    one.stray = True
                    self._stray += 1
                    raise OutOfTimeError(_late(wait))
        if isinstance(one.error, _ExpiredError):
            raise OutOfTimeError(_late(wait))
        if one.error is not None:
            raise one.error
        return one.answer

    def _run(self, one: _Call) -> None:
        one.run()
        with self._lock:
            one.done.set()
            self._stray -= one.stray


class _Call:
    """One call, and what became of it."""

    def __init__(self, call: Callable[[], Any], seconds: float) -> None:
        self._call = call
        self._seconds = seconds
        self._context = contextvars.copy_context()
        self.answer: Any = None
        self.error: Exception | None = None
        self.stray = False
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self.answer = self._context.run(self._finish)
        except Exception as error:  # noqa: BLE001 - whatever the model's client raises
            self.error = error
        except BaseException as error:  # noqa: BLE001 - the thread ends anyway, and somebody waits
            self.error = RuntimeError(f"it ended its thread: {error!r}")

    def _finish(self) -> Any:
        made = self._call()
        return asyncio.run(self._await(made)) if inspect.isawaitable(made) else made

    async def _await(self, made: Awaitable[Any]) -> Any:
        scope = asyncio.timeout(self._seconds)
        try:
            async with scope:
                return await made
        except TimeoutError:
            if scope.expired():
                raise _ExpiredError from None
            raise


def _late(seconds: float) -> str:
    return f"the model did not answer within {seconds:g} s"


class _ExpiredError(Exception):
    """An awaitable was cancelled because its time was over."""
