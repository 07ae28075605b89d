"""Transports of HTTP clients that do in process what the proxy does: a window in, the reply kept.

A client's own client of HTTP still sends what is sent, with its connections, proxies and
certificates; these stand before it.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

import httpx2

from warmset.llm import Deadline, OutOfTimeError
from warmset.serve.proxy.along import Along, copied
from warmset.serve.proxy.awaited import AwaitedExchanges
from warmset.serve.proxy.exchange import Asked, Prepared
from warmset.serve.proxy.naming import HEADER, HeaderError
from warmset.serve.proxy.overlong import MOST_SAID, STATUSES, begun
from warmset.serve.proxy.surfaces import fetched_of, surface_behind
from warmset.serve.proxy.upstream import OWN, forwarded, with_beta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from warmset.serve.proxy.exchange import Exchanges
    from warmset.serve.replies import Reply

T = TypeVar("T")

_BROKEN: Final = (httpx2.HTTPError, httpx2.StreamError)


class InProcess:
    """What is done with a request and its answer, whether a client waits or not.

    Args:
        exchanges: Puts windows into requests, and appends what is answered.
        conversation: The name of the conversation of requests that name none, as a header has it;
            None to recognise them.
        patience: Seconds that a window may take before the request goes as it came.
    """

    def __init__(self, exchanges: Exchanges, conversation: str | None, patience: float) -> None:
        self.exchanges = exchanges
        self.patience = patience
        self._conversation = conversation

    def asked(self, request: httpx2.Request) -> Asked | None:
        """Return a request that has to do with a list; None for one that passes as it is."""
        surface, fetched = surface_behind(request.method, request.url.path), None
        if surface is None:
            kept = fetched_of(request.method, request.url.path, surface_behind)
            if kept is None:
                return None
            surface, fetched = kept
        try:
            body = request.content
        except httpx2.RequestNotRead:  # it is sent piece by piece
            return None
        headers = {name.lower(): value for name, value in request.headers.items()}
        if self._conversation is not None:
            headers.setdefault(HEADER, self._conversation)
        query = request.url.query.decode("latin-1")
        return Asked(surface=surface, headers=headers, query=query, body=body, fetched=fetched)

    @staticmethod
    def sent(request: httpx2.Request, prepared: Prepared) -> httpx2.Request:
        """Return a request as it is sent."""
        return httpx2.Request(
            request.method,
            request.url,
            headers=with_beta(forwarded(request.headers.raw), prepared.beta),
            content=prepared.body or None,
            extensions=request.extensions,
        )

    @staticmethod
    def answered(
        answer: httpx2.Response,
        prepared: Prepared,
        stream: httpx2.SyncByteStream | httpx2.AsyncByteStream,
    ) -> httpx2.Response:
        """Return an answer as the client gets it: the same, with `x-warmset`."""
        own = OWN.encode()
        headers = [one for one in answer.headers.raw if not one[0].lower().startswith(own)]
        return httpx2.Response(
            answer.status_code,
            headers=[*headers, (own, prepared.header().encode("latin-1", "replace"))],
            stream=stream,
            extensions=answer.extensions,
        )

    @staticmethod
    def refused(error: HeaderError) -> httpx2.Response:
        """Return the answer to a request of which a header for warmset has a wrong value."""
        said = {"type": "warmset_header", "message": str(error)}
        return httpx2.Response(400, json={"error": said})


class Transport(httpx2.BaseTransport):
    """Stands before the HTTP client of a client that waits.

    Args:
        inner: That HTTP client.
        process: What is done with requests.
    """

    def __init__(self, inner: httpx2.Client, process: InProcess) -> None:
        self._inner = inner
        self._process = process
        self._deadline = Deadline(process.patience)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        asked = self._process.asked(request)
        if asked is None:
            answer = self._inner.send(request, stream=True)
            return _plain(answer, _Stream(answer.iter_raw(), answer.close))
        try:
            prepared = self._prepared(asked)
        except HeaderError as error:
            return self._process.refused(error)
        answer = self._inner.send(self._process.sent(request, prepared), stream=True)
        first: list[bytes] = []
        pieces = answer.iter_raw()
        if answer.status_code in STATUSES:
            first, whole, pieces = _some(pieces)
            again = self._again(asked, prepared, answer.status_code, first) if whole else None
            if again is not None:  # read to its end: closed
                first, prepared = [], again
                answer = self._inner.send(self._process.sent(request, prepared), stream=True)
                pieces = answer.iter_raw()
        chunks: Iterable[bytes] = chain(first, pieces)
        if answer.is_success:
            along = Along(asked.surface, answer.headers, early=prepared.waits)
            chunks = _copied(chunks, along, partial(self._answered, asked, prepared))
        return self._process.answered(answer, prepared, _Stream(chunks, answer.close))

    def close(self) -> None:
        """Close the HTTP client behind."""
        self._inner.close()

    def _prepared(self, asked: Asked) -> Prepared:
        exchanges = self._process.exchanges
        made = self._in_time(partial(exchanges.prepare, asked))
        return exchanges.bypassed(asked, "too_slow") if made is None else made

    def _again(
        self, asked: Asked, prepared: Prepared, status: int, said: list[bytes]
    ) -> Prepared | None:
        """Return what is sent instead of what was refused; None if that goes back."""
        work = self._process.exchanges.again(asked, prepared, status, b"".join(said))
        return None if work is None else self._in_time(work)

    def _in_time(self, work: Callable[[], T]) -> T | None:
        try:
            made: T = self._deadline.run(work)
        except OutOfTimeError:
            return None
        return made

    def _answered(self, asked: Asked, prepared: Prepared, reply: Reply) -> None:
        exchanges = self._process.exchanges
        try:
            self._deadline.run(partial(exchanges.answered, asked, prepared, reply))
        except OutOfTimeError as error:
            exchanges.left(asked, error)


class AsyncTransport(httpx2.AsyncBaseTransport):
    """Stands before the HTTP client of a client that is awaited.

    Args:
        inner: That HTTP client.
        process: What is done with requests.
    """

    def __init__(self, inner: httpx2.AsyncClient, process: InProcess) -> None:
        self._inner = inner
        self._process = process
        self._exchanges = AwaitedExchanges(process.exchanges, process.patience)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        asked = self._process.asked(request)
        if asked is None:
            answer = await self._inner.send(request, stream=True)
            return _plain(answer, _AsyncStream(answer.aiter_raw(), answer.aclose))
        try:
            prepared = await self._exchanges.prepare(asked)
        except HeaderError as error:
            return self._process.refused(error)
        answer = await self._inner.send(self._process.sent(request, prepared), stream=True)
        first: list[bytes] = []
        pieces: AsyncIterator[bytes] = answer.aiter_raw()
        if answer.status_code in STATUSES:
            try:
                whole = await begun(pieces, first)
            except _BROKEN as error:
                whole, pieces = False, _afails(error)
            again = await self._again(asked, prepared, answer.status_code, first) if whole else None
            if again is not None:  # read to its end: closed
                first, prepared = [], again
                answer = await self._inner.send(self._process.sent(request, prepared), stream=True)
                pieces = answer.aiter_raw()
        chunks = _achain(first, pieces)
        if answer.is_success:
            along = Along(asked.surface, answer.headers, early=prepared.waits)
            chunks = copied(chunks, along, partial(self._answered, asked, prepared))
        return self._process.answered(answer, prepared, _AsyncStream(chunks, answer.aclose))

    async def aclose(self) -> None:
        """Close the HTTP client behind."""
        await self._inner.aclose()

    async def _again(
        self, asked: Asked, prepared: Prepared, status: int, said: list[bytes]
    ) -> Prepared | None:
        """Return what is sent instead of what was refused; None if that goes back."""
        return await self._exchanges.again(asked, prepared, status, b"".join(said))

    async def _answered(self, asked: Asked, prepared: Prepared, reply: Reply) -> None:
        if not await self._exchanges.answered(asked, prepared, reply):
            self._process.exchanges.left(asked, TimeoutError())


class _Stream(httpx2.SyncByteStream):
    """Pieces of an answer."""

    def __init__(self, chunks: Iterable[bytes], close: Callable[[], None]) -> None:
        self._chunks = chunks
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    def close(self) -> None:
        self._close()


class _AsyncStream(httpx2.AsyncByteStream):
    """Pieces of an answer."""

    def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]) -> None:
        self._chunks = chunks
        self._close = close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        await self._close()


def _plain(
    answer: httpx2.Response, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream
) -> httpx2.Response:
    """Return an answer as it came, with its bytes as they arrive."""
    return httpx2.Response(
        answer.status_code,
        headers=answer.headers.raw,
        stream=stream,
        extensions=answer.extensions,
    )


def _some(pieces: Iterator[bytes]) -> tuple[list[bytes], bool, Iterator[bytes]]:
    """Return the first pieces of an error, whether these are all, and the rest.

    If it breaks off, the rest is that it does: the client has its status before.
    """
    first: list[bytes] = []
    try:
        for chunk in pieces:
            first.append(chunk)
            if sum(map(len, first)) > MOST_SAID:
                return first, False, pieces
    except _BROKEN as error:
        return first, False, _fails(error)
    return first, True, pieces


def _fails(error: Exception) -> Iterator[bytes]:
    raise error
    yield b""  # so that it is raised where the pieces are read


async def _afails(error: Exception) -> AsyncIterator[bytes]:
    raise error
    yield b""  # as above


async def _achain(first: Iterable[bytes], pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in first:
        yield chunk
    async for chunk in pieces:
        yield chunk


def _copied(
    chunks: Iterable[bytes], along: Along, answered: Callable[[Reply], None]
) -> Iterator[bytes]:
    """Pass the pieces of an answer on, and append its reply before its end."""
    try:
        for chunk in chunks:
            step = along.take(chunk)
            if step.reply is not None:
                answered(step.reply)
            yield from step.chunks
    except _BROKEN:
        yield from along.broken()
        raise
    step = along.end()
    if step.reply is not None:
        answered(step.reply)
    yield from step.chunks
