"""The proxy as an ASGI application."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from warmset.serve.proxy.awaited import AwaitedExchanges
from warmset.serve.proxy.connecting import Connecting
from warmset.serve.proxy.exchange import Asked, Exchanges, Prepared
from warmset.serve.proxy.naming import HeaderError
from warmset.serve.proxy.pages import SAFE, pages
from warmset.serve.proxy.paths import raw_of
from warmset.serve.proxy.relay import Address, Reading, Relay
from warmset.serve.proxy.surfaces import fetched_of, provider_of, surface_of
from warmset.serve.proxy.upstream import Upstream, forwarded
from warmset.serve.proxy.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from warmset.serve.proxy.callers import Callers
    from warmset.serve.proxy.memories import Memories
    from warmset.serve.proxy.options import ProxyOptions
    from warmset.serve.proxy.watch import Seen
    from warmset.serve.replies import Reply

_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

THREADS: Final = 16
"""Windows that are made at once; more requests wait for one, within their patience."""


def application(
    memories: Memories, who: Callers, options: ProxyOptions, watcher: Watcher | None = None
) -> Starlette:
    """Return the proxy; the guard stands in front of it.

    Args:
        memories: The store, which the caller closes.
        who: Tells who asks, and in which conversation.
        options: What the proxy is told.
        watcher: Watches it; one of its own if not given.
    """
    watcher = watcher or Watcher(names=options.names)
    memories.tell("page", watcher.recent)
    proxy = _Proxy(memories, who, options, watcher)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watcher.tell)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await proxy.aclose()
                    await to_thread.run_sync(watcher.told)

    routes = [
        Route("/_warmset/health", proxy.health, methods=["GET"]),
        *pages(watcher, memories, patience=options.patience),
        Route("/_warmset/{path:path}", _unknown, methods=_METHODS),
        Route("/{path:path}", proxy.answer, methods=_METHODS),
    ]
    return Starlette(routes=routes, lifespan=life)


async def _unknown(_request: Request) -> Response:
    return PlainTextResponse("there is no such page\n", status_code=404)


class _Proxy:
    """Answers requests.

    Args:
        memories: The store.
        who: Tells who asks.
        options: What the proxy is told.
        watcher: Watches it.
    """

    def __init__(
        self, memories: Memories, who: Callers, options: ProxyOptions, watcher: Watcher
    ) -> None:
        self._watcher = watcher
        self._memories = memories
        self._options = options
        self._exchanges = AwaitedExchanges(
            Exchanges(memories, who, options), options.patience, anyio.CapacityLimiter(THREADS)
        )
        self._upstream = Upstream(
            options.upstreams,
            timeout=options.timeout,
            connections=options.connections,
            connecting=Connecting(options.private),
        )

    async def aclose(self) -> None:
        await self._upstream.aclose()

    async def health(self, _request: Request) -> Response:
        """Say whether the store can be read."""

        def read() -> dict[str, Any]:
            messages = self._memories.first.stats()["messages"]
            return {"status": "ok", "messages": messages, "process": os.getpid()}

        try:
            with anyio.fail_after(self._options.patience):
                said = await to_thread.run_sync(read, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - that is what it says
            why = {"status": "bypass", "why": type(error).__name__}
            return JSONResponse(why, status_code=503, headers=SAFE)
        return JSONResponse(said, headers=SAFE)

    async def answer(self, request: Request) -> Response:
        """Answer any request: with a window where it has a list, else as it came."""
        path = raw_of(request.scope).decode("latin-1")
        query: str = request.scope["query_string"].decode("latin-1")
        body = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        surface, fetched = surface_of(request.method, path), None
        if surface is None and (kept := fetched_of(request.method, path)) is not None:
            surface, fetched = kept
        provider = (
            provider_of(path, frozenset(headers), query) if surface is None else surface.provider
        )
        address = Address(
            method=request.method,
            url=self._upstream.upstreams.url(provider, path, query),
            headers=tuple(forwarded(request.headers.raw)),
        )
        seen = self._watcher.request(surface, provider, address, headers)
        if surface is None:
            return seen.around(Relay(self._upstream, address, Prepared(body=body)))
        asked = Asked(
            surface=surface, headers=headers, query=query, body=body, fetched=fetched, seen=seen
        )
        try:
            prepared = await self._prepare(asked, seen)
        except HeaderError as error:
            said = {"type": "warmset_header", "message": str(error)}
            return seen.around(JSONResponse({"error": said}, status_code=400))
        reading = Reading(
            surface=surface,
            again=partial(self._again, asked, seen),
            answered=partial(self._answered, asked, seen),
        )
        return seen.around(Relay(self._upstream, address, prepared, reading))

    async def _prepare(self, asked: Asked, seen: Seen) -> Prepared:
        """Return what is sent, and let it be seen."""
        prepared = await self._exchanges.prepare(asked)
        seen.sends(prepared)
        return prepared

    async def _again(
        self, asked: Asked, seen: Seen, prepared: Prepared, status: int, said: bytes
    ) -> Prepared | None:
        """Return what is sent instead of what was refused, and let it be seen."""
        made = await self._exchanges.again(asked, prepared, status, said)
        if made is not None:
            seen.sends(made)
        return made

    async def _answered(self, asked: Asked, seen: Seen, prepared: Prepared, reply: Reply) -> None:
        """Append a reply, whatever happens to the connection meanwhile; wait for it so long."""
        seen.replied(reply)
        await self._exchanges.answered(asked, prepared, reply)
