"""Reads an answer along while it is passed on, without a connection of its own.

The reply is appended before the client has the end of it, so that its next request finds it: of a
stream that is the event that ends the reply, of a body its last piece.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2

from warmset._support.log import event, kind, room
from warmset.serve.replies import assembler_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping

    from warmset.serve.proxy.surfaces import Surface
    from warmset.serve.replies import Reply

LOG: Final = room("serve")

LOOKS: Final = 16
"""How often a stream is looked at to see whether the reply has ended, where its bytes say so."""

_END: Final = re.compile(
    rb"\[DONE\]|message_stop|response\.(?:completed|incomplete)"
    rb"|finish_?[rR]eason\"\s*:\s*\"|interaction\.complete"
)
"""What stands in the event that ends a reply, or in a text that says so."""

_LONGEST: Final = 64
"""No less than the bytes of such a mark, of which two pieces may have a part each."""

_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""The blank line behind an event."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done, in this order.

    Args:
        reply: A reply to be appended; None if there is nothing to append.
        chunks: What is passed on.
    """

    reply: Reply | None
    chunks: tuple[bytes, ...]


class Along:
    """Takes the pieces of one answer, and says what is to be done with each.

    Args:
        surface: What was asked.
        headers: The headers of the answer by their names in lower case.
        early: Whether the reply is also to be appended as soon as a stream has told the id of its
            response: then the client may leave, and fetch it later.
    """

    def __init__(
        self, surface: Surface, headers: Mapping[str, str], *, early: bool = False
    ) -> None:
        kind_of = headers.get("content-type", "").lower()
        plain = headers.get("content-encoding", "identity") == "identity"
        self._streams = kind_of.startswith("text/event-stream")
        self._reader = assembler_for(surface.name, kind_of) if plain else None
        self._surface = surface.name
        self._is_array = surface.name == "gemini" and surface.streams is True
        self._looks = LOOKS
        self._before = b""
        self._marked = False
        self._told = False
        self._early = early
        self._held: bytes | None = None

    def take(self, chunk: bytes) -> Step:
        """Take a piece. What may be the last piece of a body is passed on with the next one."""
        self._read(chunk)
        if not self._streams:
            ready = () if self._held is None else (self._held,)
            self._held = chunk
            if self._is_array and not chunk.rstrip().endswith(b"]"):
                ready, self._held = (*ready, chunk), None
            return Step(None, ready)
        reply = None
        if not self._told and self._ends(chunk):
            self._told = True
            reply = self._reply()
        elif self._early and self._begins():
            self._early = False
            reply = self._reply()
        return Step(reply, (chunk,))

    def end(self) -> Step:
        """Say that the answer has ended; its usage may have come behind the reply."""
        return Step(self._reply(), self.broken())

    def broken(self) -> tuple[bytes, ...]:
        """Say that no more comes; return what is still to be passed on."""
        held, self._held = self._held, None
        return () if held is None else (held,)

    def _ends(self, chunk: bytes) -> bool:
        """Return whether a reply ends with a piece.

        The mark of its end may stand many pieces before the end of its event, which has the whole
        response in it. A text that says the same costs a look.
        """
        if self._reader is None or not self._looks:
            return False
        before, seen = len(self._before), self._before + chunk
        self._before = seen[-_LONGEST:]
        marks = [one.end() for one in _END.finditer(seen) if one.end() > before]
        if not marks and not self._marked:
            return False
        # Behind the first mark; of one in an earlier piece, the blank line may begin there, too.
        start = max(before - 3, 0) if self._marked else marks[0]
        if _EVENT_END.search(seen, start) is None:
            self._marked = True
            return False
        self._marked = bool(marks) and _EVENT_END.search(seen, marks[-1]) is None
        self._looks -= 1
        reply = self._reply()
        return reply is not None and reply.is_complete

    def _read(self, chunk: bytes) -> None:
        """Read a piece, until that fails: the client has its answer in any case."""
        if self._reader is None:
            return
        try:
            self._reader.feed(chunk)
        except Exception as error:  # noqa: BLE001 - as above
            self._left(error)

    def _begins(self) -> bool:
        """Return whether a stream has told the id of its response."""
        reply = self._reply()
        return reply is not None and reply.id is not None

    def _reply(self) -> Reply | None:
        try:
            return None if self._reader is None else self._reader.reply()
        except Exception as error:  # noqa: BLE001 - as above
            self._left(error)
            return None

    def _left(self, error: Exception) -> None:
        event(LOG, logging.WARNING, "reply_left", surface=self._surface, error=kind(error))
        self._reader = None


async def copied(
    chunks: AsyncIterator[bytes], along: Along, answered: Callable[[Reply], Awaitable[None]]
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of an answer, and have its reply appended before its end.

    Args:
        chunks: The pieces, as they arrive.
        along: Reads them.
        answered: Appends a reply.
    """
    try:
        async for chunk in chunks:
            step = along.take(chunk)
            if step.reply is not None:
                await answered(step.reply)
            for one in step.chunks:
                yield one
    except (httpx2.HTTPError, httpx2.StreamError):
        for one in along.broken():
            yield one
        raise
    step = along.end()
    if step.reply is not None:
        await answered(step.reply)
    for one in step.chunks:
        yield one
