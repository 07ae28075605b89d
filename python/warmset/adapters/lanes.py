"""Threads for the asynchronous methods of adapters over a log: one that reads, a few that change.

While a thread makes Python objects, the event loop waits for the interpreter, and the more threads
do so, the longer it waits for its turn. So reads come one after the other. Changes wait for the
disk most of the time, and a store syncs those that wait at the same time together: a few run at
once. Neither waits for the other, nor for what else runs in the loop's own threads.

Threads start when they are first used, and anew in the child of a fork.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from warmset._support.aio import to_the_end
from warmset._support.forks import Lock, in_child

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

P = ParamSpec("P")
R = TypeVar("R")

READERS: Final = 1
CHANGERS: Final = 4


class Lane:
    """A few threads that run what they are given, in the order in which it comes.

    Args:
        name: What the threads are called.
        threads: How many there are.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._threads = threads
        self._lock = Lock()
        self._begin_anew()
        in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self._made: ThreadPoolExecutor | None = None

    @property
    def executor(self) -> ThreadPoolExecutor:
        """The threads."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as asyncio

        with self._lock:
            if self._made is None:
                self._made = ThreadPoolExecutor(self._threads, f"warmset-{self._name}")
            return self._made


_READS: Final = Lane("reads", READERS)
_CHANGES: Final = Lane("changes", CHANGERS)


async def reading(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function that changes nothing in the lane of reads, with the caller's context."""
    import asyncio  # noqa: PLC0415 - a third of the time that importing warmset takes
    import contextvars  # noqa: PLC0415

    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_READS.executor, call)


async def changing(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function in the lane of changes, with the caller's context, and wait till it ends.

    Whoever is cancelled meanwhile waits until the function has ended, and is cancelled then.
    """
    return await to_the_end(_CHANGES.executor, functools.partial(function, *args, **kwargs))
