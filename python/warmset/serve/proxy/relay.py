"""The answer of an upstream on its way to the client: the same bytes, as they arrive."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
from starlette.responses import JSONResponse, Response

from warmset._support.log import event, kind, room
from warmset.evict.overflow import is_overflow
from warmset.serve.proxy.upstream import returned
from warmset.serve.replies import assembler_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from warmset.serve.proxy.exchange import Prepared
    from warmset.serve.proxy.surfaces import Surface
    from warmset.serve.proxy.upstream import Upstream
    from warmset.serve.replies import Reply

LOG: Final = room("serve")

_TOO_LONG: Final = (400, 413)
"""Statuses of answers that may say that a request is too long."""

STEP: Final = 0.75
"""The share of its tokens that a request may have once the provider found it too long."""

LOOKS: Final = 16
"""How often a stream is looked at to see whether the reply has ended, where its bytes say so."""

_END: Final = re.compile(
    rb"\[DONE\]|message_stop|response\.(?:completed|incomplete)"
    rb"|finish_?[rR]eason\"\s*:\s*\"|interaction\.complete"
)
"""What stands where a reply ends."""

_MOST_SAID: Final = 64 << 10
"""Bytes of an error that are read to see whether it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a request goes.

    Args:
        method: Its method.
        url: The address.
        headers: Its headers.
    """

    method: str
    url: httpx2.URL
    headers: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the answer to a request with a list is read along.

    Args:
        surface: What the request is.
        shorter: Prepares it anew for fewer tokens.
        answered: Takes the reply.
    """

    surface: Surface
    shorter: Callable[[int], Awaitable[Prepared]]
    answered: Callable[[Prepared, Reply], Awaitable[None]]


class _ToldError(Exception):
    """What a provider said of a request, as `is_overflow` reads it."""

    def __init__(self, status: int, said: bytes) -> None:
        super().__init__(said.decode("utf-8", "replace"))
        self.status_code = status
        try:
            self.body: Any = json.loads(said)
        except (ValueError, RecursionError):
            self.body = None


class Relay(Response):
    """Sends a request upstream, and its answer back.

    Args:
        upstream: The connections.
        address: Where it goes.
        prepared: What is sent.
        reading: How its answer is read along; None where it passes as it is.
    """

    def __init__(
        self,
        upstream: Upstream,
        address: Address,
        prepared: Prepared,
        reading: Reading | None = None,
    ) -> None:
        super().__init__()
        self._upstream = upstream
        self._address = address
        self._prepared = prepared
        self._reading = reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; what the client gives up is given up upstream."""
        async with anyio.create_task_group() as group:

            async def until_gone() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(until_gone)
            await self._relayed(scope, receive, send)
            group.cancel_scope.cancel()

    async def _relayed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the request, once more if it was too long, and the answer back."""
        sent = _Sent(send)
        try:
            window, reading = self._prepared.window, self._reading
            if reading is not None and window is not None:
                if await self._tried(sent, last=False):
                    return
                self._prepared = await reading.shorter(int(window.tokens * STEP))
            await self._tried(sent, last=True)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            slow = isinstance(error, httpx2.TimeoutException)
            event(LOG, logging.WARNING, "upstream_failed", error=kind(error), begun=sent.begun)
            if sent.begun:
                return  # an answer that breaks off upstream breaks off here
            said = {"type": "warmset_upstream", "message": "the upstream does not answer"}
            refused = JSONResponse(
                {"error": said},
                status_code=504 if slow else 502,
                headers={"x-warmset": "upstream; reason=" + ("slow" if slow else "unreachable")},
            )
            await refused(scope, receive, send)

    async def _tried(self, send: _Sent, *, last: bool) -> bool:
        """Send the request; return whether its answer went back."""
        address, prepared, reading = self._address, self._prepared, self._reading
        headers = with_beta(address.headers, prepared.beta)
        async with self._upstream.answer(
            address.method, address.url, headers, prepared.body
        ) as answer:
            chunks = answer.aiter_raw()
            first: list[bytes] = []
            if not last and answer.status_code in _TOO_LONG:
                size = 0
                async for chunk in chunks:
                    first.append(chunk)
                    size += len(chunk)
                    if size > _MOST_SAID:
                        break
                else:
                    if is_overflow(_ToldError(answer.status_code, b"".join(first))):
                        return False
            back = returned(answer.headers.raw)
            if reading is not None:
                back.append((b"x-warmset", prepared.header().encode("latin-1", "replace")))
            await send.start(answer.status_code, back)
            for chunk in first:
                await send.more(chunk)
            if reading is None or not answer.is_success:
                async for chunk in chunks:
                    await send.more(chunk)
            else:
                answered = partial(reading.answered, prepared)
                copying = _Copying(send, answer, reading.surface, answered, early=prepared.waits)
                await copying.run(chunks)
            await send.end()
            return True


class _Copying:
    """Passes an answer on while it is read along.

    The reply is appended before the client has the end of it, so that its next request finds it: of
    a stream that is the event that ends the reply, of a body its last piece.

    Args:
        send: The client.
        answer: The answer.
        surface: What the request is.
        answered: Takes the reply.
        early: Whether it takes what is there as soon as a stream has the id of the response, too:
            then the client may leave, and fetch the reply later.
    """

    def __init__(
        self,
        send: _Sent,
        answer: httpx2.Response,
        surface: Surface,
        answered: Callable[[Reply], Awaitable[None]],
        *,
        early: bool = False,
    ) -> None:
        self._send = send
        self._early = early
        self._answered = answered
        kind_of = answer.headers.get("content-type", "")
        self._streams = kind_of.startswith("text/event-stream")
        plain = answer.headers.get("content-encoding", "identity") == "identity"
        self._reader = assembler_for(surface.name, kind_of) if plain else None
        self._looks = LOOKS

    async def run(self, chunks: AsyncIterator[bytes]) -> None:
        """Pass the pieces on, each as it arrives; of a body, each when the next one arrives."""
        held: bytes | None = None
        told = False
        try:
            async for chunk in chunks:
                if self._reader is not None:
                    self._reader.feed(chunk)
                if self._streams:
                    if not told and self._ends(chunk):
                        await self._tell()
                        told = True
                    elif self._early and self._begins():
                        self._early = False
                        await self._tell()
                    await self._send.more(chunk)
                    continue
                if held is not None:
                    await self._send.more(held)
                held = chunk
        except (httpx2.HTTPError, httpx2.StreamError):
            if held is not None:
                await self._send.more(held)
            raise
        await self._tell()
        if held is not None:
            await self._send.more(held)

    def _ends(self, chunk: bytes) -> bool:
        """Return whether a reply may end with a piece; a text that says so costs a look."""
        if self._reader is None or not self._looks or not _END.search(chunk):
            return False
        self._looks -= 1
        return self._reader.reply().is_complete

    def _begins(self) -> bool:
        """Return whether a stream has told the id of its response."""
        return self._reader is not None and self._reader.reply().id is not None

    async def _tell(self) -> None:
        if self._reader is not None:
            await self._answered(self._reader.reply())


class _Sent:
    """The answer to a client, as far as it was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def more(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def with_beta(
    headers: tuple[tuple[bytes, bytes], ...], beta: str | None
) -> list[tuple[bytes, bytes]]:
    """Return headers with a value of `anthropic-beta` more, if it is not there already."""
    if beta is None:
        return list(headers)
    name = b"anthropic-beta"
    there = [value for key, value in headers if key == name]
    known = {one.strip() for value in there for one in value.decode("latin-1").split(",")}
    wanted = [one for one in map(str.strip, beta.split(",")) if one not in known]
    value = b", ".join([*there, *(one.encode("latin-1") for one in wanted)])
    return [*(one for one in headers if one[0] != name), (name, value)]
