"""Serves clients over streamable HTTP, behind the guard that the proxy has, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._extras import extra
from warmset.serve.listening import Listening, address_of, settings
from warmset.serve.proxy.guard import Guard, GuardOptions

with extra("mcp"):
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"
"""Where clients find the server."""

MAX_BODY: Final = 32 << 20
"""The most bytes of a request."""

GRACE: Final = 3
"""Seconds that open answers have to finish; a stream that only waits for news never does."""


def application(server: Server[Any], guard: GuardOptions) -> Guard:
    """Return the application of a server.

    Args:
        server: The server.
        guard: Who is let in.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=guard.max_body,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=False  # the guard is stricter, and knows more names
        ),
    )
    return Guard(_trimmed(app), guard)


def _trimmed(app: ASGIApp) -> ASGIApp:
    """Hand headers on without white space around their values, which is no part of these."""

    async def trimming(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return trimming


def serve_http(
    server: Server[Any],
    guard: GuardOptions,
    listening: Listening,
    *,
    ready: Callable[[str], None],
) -> None:
    """Serve until the process is told to end.

    Args:
        server: The server.
        guard: Who is let in.
        listening: Where it listens.
        ready: Called with the URL for clients once it can be reached.

    Raises:
        InvalidInputError: Nobody can listen there.
    """
    with listening.bound() as bound:
        ready(address_of(bound) + PATH)
        config = uvicorn.Config(application(server, guard), **settings(listening))
        uvicorn.Server(config).run(sockets=[bound])
