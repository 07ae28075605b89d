"""Asynchronous versions of methods: the core is synchronous, so they run it in a thread."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Executor

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function in a thread, with the caller's context.

    Cancelling it does not stop the thread, so a cancelled append may still store its messages.
    """
    import asyncio  # noqa: PLC0415 - a third of the time that importing warmset takes

    return await asyncio.to_thread(function, *args, **kwargs)


async def in_thread_to_the_end(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function in a thread, with the caller's context, and wait for it in any case.

    Whoever is cancelled meanwhile waits until the function has ended, and is cancelled then. So no
    change goes on behind the back of who asked for it.
    """
    return await to_the_end(None, functools.partial(function, *args, **kwargs))


async def to_the_end(executor: Executor | None, function: Callable[[], R]) -> R:
    """Run a function as `in_thread_to_the_end` does, in threads of an executor.

    Args:
        executor: The threads; None for those of the loop.
        function: The function.
    """
    import asyncio  # noqa: PLC0415
    import contextvars  # noqa: PLC0415

    call = functools.partial(contextvars.copy_context().run, function)
    # No task: at its end a loop cancels its tasks, and would not wait for this one's thread.
    running = asyncio.get_running_loop().run_in_executor(executor, call)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # looked at, so that no loop complains
        raise cancelled
    return running.result()


def twin(
    method: Callable[P, R],
    *,
    to_the_end: bool = False,
    run_in: Callable[..., Coroutine[Any, Any, Any]] | None = None,
) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the asynchronous version of a method: the same arguments, result and errors.

    Args:
        method: The method, as it stands in its class.
        to_the_end: Whether one that is cancelled waits until the method has ended.
        run_in: What runs it in a thread; `in_thread` or `in_thread_to_the_end` if not given.

    Returns:
        A coroutine function that runs it in a thread, or what a subclass has in its place.
    """
    run_it = run_in or (in_thread_to_the_end if to_the_end else in_thread)

    @functools.wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        own: Callable[..., R] = getattr(args[0], method.__name__)
        made: R = await run_it(own, *args[1:], **kwargs)
        return made

    run.__doc__ = f"Run `{method.__name__}` in a thread; the same arguments, result and errors."
    if to_the_end:
        run.__doc__ += "\n\nWhoever is cancelled meanwhile waits until it has ended."
    run.__name__ = f"a{method.__name__}"
    run.__qualname__ = run.__qualname__.replace(method.__name__, run.__name__)
    return run
