"""Asynchronous versions of methods: the core is synchronous, so they run it in a thread."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
R = TypeVar("R")


def twin(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the asynchronous version of a function: the same arguments, result and errors.

    Args:
        function: The function to run.

    Returns:
        A coroutine function that runs it in a thread. Cancelling it does not stop the thread, so a
        cancelled append may still store its messages.
    """

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio  # noqa: PLC0415 - a third of the time that importing warmset takes

        return await asyncio.to_thread(function, *args, **kwargs)

    run.__doc__ = f"Run `{function.__name__}` in a thread; the same arguments, result and errors."
    run.__name__ = f"a{function.__name__}"
    run.__qualname__ = run.__qualname__.replace(function.__name__, run.__name__)
    return run
