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
        route: Where it goes.
        prepared: What is sent.
        shorter: Prepares the request anew for fewer tokens; None where it passes as it is.
        answered: Takes the reply; None as above.
        surface: What the request is; None as above.
    """

    def __init__(
        self,
        upstream: Upstream,
        route: Address,
        prepared: Prepared,
        *,
        shorter: Callable[[int], Awaitable[Prepared]] | None = None,
        answered: Callable[[Prepared, Reply], Awaitable[None]] | None = None,
        surface: Surface | None = None,
    ) -> None:
        super().__init__()
        self._upstream = upstream
        self._route = route
        self._prepared = prepared
        self._shorter = shorter
        self._answered = answered
        self._surface = surface

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
            if await self._tried(sent, last=self._prepared.window is None):
                return
            if self._shorter is not None and self._prepared.window is not None:
                self._prepared = await self._shorter(int(self._prepared.window.tokens * STEP))
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
        route, prepared = self._route, self._prepared
        headers = with_beta(route.headers, prepared.beta)
        async with self._upstream.answer(route.method, route.url, headers, prepared.body) as answer:
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
            if self._surface is not None:
                back.append((b"x-warmset", prepared.header().encode("latin-1", "replace")))
            await send.start(answer.status_code, back)
            for chunk in first:
                await send.more(chunk)
            if self._surface is None or self._answered is None or not answer.is_success:
                async for chunk in chunks:
                    await send.more(chunk)
            else:
                answered = partial(self._answered, prepared)
                await _Copying(send, answer, self._surface, answered).run(chunks)
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
    """

    def __init__(
        self,
        send: _Sent,
        answer: httpx2.Response,
        surface: Surface,
        answered: Callable[[Reply], Awaitable[None]],
    ) -> None:
        self._send = send
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
                        told = await self._tell()
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

    async def _tell(self) -> bool:
        if self._reader is not None:
            await self._answered(self._reader.reply())
        return True


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
