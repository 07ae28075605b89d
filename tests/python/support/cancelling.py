"""Calls of a framework that are cancelled while a thread is at work for them."""

from __future__ import annotations

import asyncio
import threading

import pytest


async def ends_before(owner, name, call, *, turns=20):
    """Cancel a call while a function that a thread runs for it waits.

    Args:
        owner: What has the function.
        name: The function's name.
        call: Returns the coroutine of the call.
        turns: How often the loop turns between the cancelling and the look.

    Returns:
        Whether the call ended before the function did.
    """
    begun, released, own = asyncio.Event(), threading.Event(), getattr(owner, name)
    loop = asyncio.get_running_loop()

    def slow(*given):
        loop.call_soon_threadsafe(begun.set)
        released.wait(30)
        own(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, slow)
        task = asyncio.create_task(call())
        await begun.wait()
        task.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = task.done()
        released.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    return ended
