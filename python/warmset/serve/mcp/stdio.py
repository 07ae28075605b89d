"""Serves one client on two streams, until it leaves or the process is told to end.

The SDK's own streams wait for a line in a thread that nothing ends: Ctrl-C would have no effect
before the next line.
"""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from warmset._extras import extra
from warmset.serve.lines import LONGEST, Lines, TooLong

with extra("mcp"):
    import anyio
    from anyio import to_thread
    from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.server.lowlevel import Server

_WAITING: Final = 64
"""Lines that may wait to be handled."""

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape of JSON: a pair of halves, one half alone, or another one."""

_REPLACED: Final = "\\ufffd"

_log = logging.getLogger(__name__)


def whole_text(line: str) -> str:
    """Return a line of JSON with U+FFFD for each half of a character that lacks the other one.

    JavaScript writes such halves where it cut a text, and the SDK takes no line with one.
    """
    return _ESCAPE.sub(lambda found: _REPLACED if found["half"] else found[0], line)


class _Reading:
    """Lines of a stream, read by a thread of its own that never holds up the end of the process."""

    def __init__(self, read: Callable[[int], bytes], longest: int) -> None:
        self._lines = Lines(read, longest=longest)
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream[str](_WAITING)
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._pump, args=(send, loop), name="warmset-mcp-stdin", daemon=True
        ).start()
        async with receive:
            async for line in receive:
                yield line

    def _pump(self, send: MemoryObjectSendStream[str], loop: asyncio.AbstractEventLoop) -> None:
        """Hand on line by line; each waits for room."""
        try:
            for line in self._lines:
                if isinstance(line, TooLong):
                    why = "a line of %d bytes was skipped; at most %d are read"
                    _log.warning(why, line.size, self._longest)
                elif not _handed_on(send, whole_text(line.decode("utf-8", "replace")), loop):
                    return
        except Exception as error:  # noqa: BLE001 - a stream that breaks is one that ends
            _log.warning("standard input ended: %s", error)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(send.close)


def _handed_on(
    send: MemoryObjectSendStream[str], text: str, loop: asyncio.AbstractEventLoop
) -> bool:
    """Hand a line to the event loop; return False if nobody reads lines any more."""
    sending = send.send(text)
    try:
        asyncio.run_coroutine_threadsafe(sending, loop).result()
    except (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        sending.close()
        return False
    return True


class _Writing:
    """Writes whole lines, in a thread, one after the other."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    async def write(self, text: str) -> None:
        data = text.encode()
        await to_thread.run_sync(self._write, data, abandon_on_cancel=True)

    async def flush(self) -> None:
        """Do nothing: every write is complete."""


async def serve_stdio(
    server: Server[Any],
    read: Callable[[int], bytes],
    write: Callable[[bytes], object],
    *,
    longest: int = LONGEST,
) -> bool:
    """Serve until the input ends, the reader of the output is gone, or SIGTERM arrives.

    Args:
        server: The server.
        read: Returns the next bytes, at most as many as it is asked for; none at the end.
        write: Writes all of what it is given.
        longest: Bytes that a line may have; a longer one is skipped.

    Returns:
        Whether SIGTERM ended it.
    """
    terminated = False

    async def until_terminated(scope: anyio.CancelScope) -> None:
        nonlocal terminated
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async for _ in signals:
                terminated = True
                scope.cancel()
                return

    source, sink = cast("Any", _Reading(read, longest)), cast("Any", _Writing(write))
    try:
        async with anyio.create_task_group() as tasks:
            if threading.current_thread() is threading.main_thread():
                tasks.start_soon(until_terminated, tasks.cancel_scope)
            async with stdio_server(source, sink) as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    except* BrokenPipeError:
        _log.info("the client is gone")
    return terminated
