"""The answer of an upstream on its way to the client: the same bytes, as they arrive."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import httpx2
from starlette.responses import JSONResponse, Response

from warmset._support.log import event, kind, room
from warmset.serve.proxy.along import Along, copied
from warmset.serve.proxy.overlong import STATUSES, begun
from warmset.serve.proxy.upstream import returned, with_beta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from warmset.serve.proxy.exchange import Prepared
    from warmset.serve.proxy.surfaces import Surface
    from warmset.serve.proxy.upstream import Upstream
    from warmset.serve.replies import Reply

LOG: Final = room("serve")


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
        again: Prepares it anew after it was refused, by what was sent, the status and the body of
            the answer; None if that goes back.
        answered: Takes the reply.
    """

    surface: Surface
    again: Callable[[Prepared, int, bytes], Awaitable[Prepared | None]]
    answered: Callable[[Prepared, Reply], Awaitable[None]]


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
        """Send the request, once more if it was refused for what can be changed, and the answer."""
        sent = _Sent(send)
        try:
            if not await self._tried(sent, last=self._reading is None):
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
        """Send the request; return whether its answer went back, else it is prepared anew."""
        address, prepared, reading = self._address, self._prepared, self._reading
        headers = with_beta(address.headers, prepared.beta)
        async with self._upstream.answer(
            address.method, address.url, headers, prepared.body
        ) as answer:
            chunks = answer.aiter_raw()
            first: list[bytes] = []
            broken: Exception | None = None
            if reading is not None and not last and answer.status_code in STATUSES:
                try:
                    anew = await self._anew(reading, answer.status_code, chunks, first)
                except (httpx2.HTTPError, httpx2.StreamError) as error:
                    anew, broken = None, error  # it breaks off behind what had come
                if anew is not None:
                    self._prepared = anew
                    return False
            back = returned(answer.headers.raw)
            if reading is not None:
                back.append((b"x-warmset", prepared.header().encode("latin-1", "replace")))
            await send.start(answer.status_code, back)
            for chunk in first:
                await send.more(chunk)
            if broken is not None:
                raise broken
            if reading is None or not answer.is_success:
                async for chunk in chunks:
                    await send.more(chunk)
            else:
                along = Along(reading.surface, answer.headers, early=prepared.waits)
                answered = partial(reading.answered, prepared)
                async with aclosing(copied(chunks, along, answered)) as pieces:
                    async for chunk in pieces:
                        await send.more(chunk)
            await send.end()
            return True

    async def _anew(
        self, reading: Reading, status: int, chunks: AsyncIterator[bytes], first: list[bytes]
    ) -> Prepared | None:
        """Return what is sent instead of what was refused; None if the answer goes back.

        Args:
            reading: How the answer is read along.
            status: Its status.
            chunks: Its pieces.
            first: Gets those that are read.
        """
        if not await begun(chunks, first):
            return None
        return await reading.again(self._prepared, status, b"".join(first))


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
