"""Connections to upstreams: to addresses that were looked at, and to no others.

A name is resolved once for each connection. All its addresses are checked, and the connection goes
to one of them: a name that leads elsewhere a moment later leads nowhere. The name stays the one in
`Host`, in TLS and in the certificate.
"""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpcore2
import httpx2

from warmset._support.log import event, room
from warmset.serve.proxy.addresses import Place, is_loopback, is_public, places_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import TypeAlias

    Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

LOG: Final = room("serve")

STAGGER: Final = 0.25
"""Seconds until the next address is tried beside one that does not answer."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, those first that are to be tried first.

    Raises:
        OSError: The host has none.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(one[4][0] for one in found))


class Connecting(httpcore2.AsyncNetworkBackend):
    """Makes connections to public addresses, to the loopback as it is written, and to listed hosts.

    Args:
        private: Hosts with their ports that may have any address; see `check_upstream`.
        resolve: Returns the addresses of a host and port.

    Raises:
        InvalidInputError: What is listed is no host with its port.
    """

    def __init__(self, private: Iterable[str] = (), *, resolve: Resolve = resolved) -> None:
        self._private = places_of(private)
        self._resolve = resolve
        self._backend: Any = httpcore2.AnyIOBackend()  # defined for checkers only where anyio is

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host, at an address that was checked.

        Raises:
            httpcore2.ConnectError: It has no address, one that is not allowed, or none answers.
            httpcore2.ConnectTimeout: That took too long.
        """

        async def connect(address: str) -> httpcore2.AsyncNetworkStream:
            made: httpcore2.AsyncNetworkStream = await self._backend.connect_tcp(
                address, port, local_address=local_address, socket_options=socket_options
            )
            return made

        try:
            with anyio.fail_after(timeout):
                return await _first_of(await self._checked(host, port), connect)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("the upstream does not answer") from None

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    async def _checked(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, all of them allowed."""
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise httpcore2.ConnectError("the upstream has no address")
        allowed = is_loopback if is_loopback(host) else is_public
        if Place(host, port) not in self._private and not all(map(allowed, found)):
            event(LOG, logging.WARNING, "address_refused", host=host, port=port)
            raise httpcore2.ConnectError("the upstream has an address that is not public")
        return found


class Transport(httpx2.AsyncHTTPTransport):
    """What sends requests over such connections.

    Args:
        connecting: Makes them.
        limits: How many there may be.
    """

    def __init__(self, connecting: Connecting, limits: httpx2.Limits) -> None:
        super().__init__(trust_env=False, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(  # httpx2 has no other way to say who connects
            ssl_context=httpx2.create_ssl_context(trust_env=False),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=connecting,
        )


async def _first_of(
    addresses: Sequence[str], connect: Callable[[str], Awaitable[httpcore2.AsyncNetworkStream]]
) -> httpcore2.AsyncNetworkStream:
    """Connect to the first address that answers; each has a head start before the next one."""
    made: list[httpcore2.AsyncNetworkStream] = []
    try:
        async with anyio.create_task_group() as group:

            async def attempt(address: str, over: anyio.Event) -> None:
                try:
                    stream = await connect(address)
                except (httpcore2.NetworkError, httpcore2.TimeoutException):
                    over.set()
                    return
                made.append(stream)
                group.cancel_scope.cancel()

            for address in addresses:
                over = anyio.Event()
                group.start_soon(attempt, address, over)
                with anyio.move_on_after(STAGGER):
                    await over.wait()
    except BaseException:
        await _close(made)
        raise
    await _close(made[1:])  # two may have answered at once
    if not made:
        raise httpcore2.ConnectError("the upstream cannot be reached")
    return made[0]


async def _close(streams: Sequence[httpcore2.AsyncNetworkStream]) -> None:
    with anyio.CancelScope(shield=True):
        for one in streams:
            await one.aclose()
