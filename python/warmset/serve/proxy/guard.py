"""What stands in front of the proxy: every request passes it, and every answer.

It promises:

- A page in a browser reaches nothing: not by another site, not by a name that leads to this
  machine, and no answer has a header that would allow it (CORS).
- A request that two servers could read in two ways goes nowhere.
- A request costs bounded memory and time: its headers, its body, how long the body takes, and how
  many there are at once. How long a head takes is the server's business.
- A refusal is JSON, `{"error": {"type": "warmset_...", "message": ...}}`, and holds nothing of what
  was sent.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from warmset.serve.proxy.addresses import check_bind, check_upstream, is_public
from warmset.serve.proxy.heads import TOKEN, GuardOptions, Refusal, refusal_of, too_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "GuardOptions", "check_bind", "check_upstream", "is_public"]

OWN_PAGES: Final = "/_warmset/"
"""How the paths of the proxy's own pages begin."""

_CORS: Final = b"access-control-"
_POLICY_VIOLATION: Final = 1008


class RefusedError(Exception):
    """A body that was being read is refused; the guard answers."""


class Guard:
    """An ASGI application that protects another one.

    Args:
        app: The application.
        options: Who is let in.
        refused: Called with the type of each refusal, for metrics.
    """

    def __init__(
        self,
        app: ASGIApp,
        options: GuardOptions,
        *,
        refused: Callable[[str], None] | None = None,
    ) -> None:
        self._app = app
        self._options = options
        self._refused = refused
        self._open = {False: 0, True: 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the application answer it."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = refusal_of(scope, self._options)
        if refusal is None:
            refusal = await self._let_in(scope, receive, send)
        if refusal is not None:
            if self._refused is not None:
                self._refused(refusal.type)
            await _answer(refusal, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        """Let the application answer if there is room; return why it did not."""
        own = scope["path"].startswith(OWN_PAGES)
        if self._open[own] >= self._options.concurrency:
            return Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "warmset_busy",
                "as many requests are open as the proxy allows; try again in a second",
            )
        self._open[own] += 1
        exchange = _Exchange(self._options, receive, send)
        headers = [one for one in scope["headers"] if one[0].lower() != TOKEN]
        try:
            await self._app({**scope, "headers": headers}, exchange.receive, exchange.send)
        except Exception:
            if exchange.refusal is None or exchange.started:
                raise
        finally:
            self._open[own] -= 1
        return None if exchange.started else exchange.refusal


@dataclass(slots=True)
class _Exchange:
    """One request whose head was let in.

    Attributes:
        refusal: Why its body is refused; None if it is not.
        started: Whether an answer has begun.
    """

    options: GuardOptions
    received: Receive
    sent: Send
    refusal: Refusal | None = None
    started: bool = False
    _size: int = 0
    _complete: bool = False
    _patience: float = field(init=False)

    def __post_init__(self) -> None:
        self._patience = self.options.timeout_body

    async def receive(self) -> Message:
        """Hand on a piece of the body, as long as it is neither too large nor too slow."""
        if self.refusal is not None:
            raise RefusedError
        if self._complete:
            return await self.received()
        message = await self._awaited()
        if message["type"] != "http.request":
            self._complete = True
            return message
        self._size += len(message.get("body", b""))
        if self._size > self.options.max_body:
            self.refusal = too_large(self.options.max_body)
            raise RefusedError
        self._complete = not message.get("more_body", False)
        return message

    async def _awaited(self) -> Message:
        """Wait for the client; what the application does meanwhile does not count."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout(self._patience):
                return await self.received()
        except TimeoutError:
            self.refusal = Refusal(
                HTTPStatus.REQUEST_TIMEOUT,
                "warmset_slow",
                f"the body took more than {self.options.timeout_body:g} seconds; send it faster",
            )
            raise RefusedError from None
        finally:
            self._patience -= loop.time() - begun

    async def send(self, message: Message) -> None:
        """Hand on a piece of the answer, without headers that let pages of other sites read it."""
        if self.refusal is not None and not self.started:
            return  # the application answers that it could not read the body
        if message["type"] == "http.response.start":
            self.started = True
            headers = message.get("headers", ())
            kept = [one for one in headers if not one[0].lower().startswith(_CORS)]
            message = {**message, "headers": kept}
        await self.sent(message)


async def _answer(refusal: Refusal, send: Send) -> None:
    """Send a refusal, and end the connection: what follows on it may be the rest of a body."""
    error: dict[str, Any] = {"type": refusal.type, "message": refusal.message}
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
