"""The proxy as a process: a socket, a store, and an end that loses nothing."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import uvicorn

from warmset.errors import InvalidInputError
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.app import application
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.guard import Guard
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.tenants import Tenants, secret_of
from warmset.serve.proxy.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from warmset.serve.proxy.guard import GuardOptions
    from warmset.serve.proxy.options import ProxyOptions

GRACE: Final = 30
"""Seconds that open answers have to finish once the process is told to end."""

_BACKLOG: Final = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where the proxy listens.

    Args:
        host: The address.
        port: The port; 0 for any that is free.
        grace: Seconds that open answers have to finish once the process is told to end.
    """

    host: str
    port: int
    grace: int = GRACE

    def bound(self) -> socket.socket:
        """Return a socket there.

        Raises:
            InvalidInputError: Nobody can listen there.
        """
        try:
            family, kind, proto, _name, place = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with ExitStack() as unless_bound:
                made = unless_bound.enter_context(socket.socket(family, kind, proto))
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(place)
                made.listen(_BACKLOG)  # who connects from now on waits for an answer
                unless_bound.pop_all()
        except OSError as error:
            raise InvalidInputError(
                f"cannot listen at {self.host}:{self.port}: {error.strerror}; give another --port"
            ) from error
        return made


def tenants_of(memory: Path) -> Tenants:
    """Return what tells the tenants of a store by their keys.

    Raises:
        StoreError: Its secret cannot be read or written.
    """
    return Tenants(secret_of(memory), Aliases(memory))


def run(
    memory: Path,
    store: Mapping[str, Any],
    options: ProxyOptions,
    guard: GuardOptions,
    listening: Listening,
    *,
    ready: Callable[[str], None],
) -> None:
    """Serve until the process is told to end.

    Args:
        memory: The store's directory.
        store: The options of `Memory.open`.
        options: What the proxy is told.
        guard: Who is let in.
        listening: Where it listens.
        ready: Called with the address once it can be reached.

    Raises:
        WarmsetError: The store cannot be opened, or nobody can listen there.
    """
    bound = listening.bound()
    with bound:
        memories = Memories(memory, store)
        try:
            host, port = bound.getsockname()[:2]
            callers = Callers(tenants_of(memory), options)
            watcher = Watcher(secret=secret_of(memory), names=options.names)
            watched = application(memories, callers, options, watcher)
            app = Guard(watched, guard, refused=watcher.refused)
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=listening.grace,
                lifespan="on",
            )
            shown = f"[{host}]" if ":" in host else host
            ready(f"http://{shown}:{port}")
            uvicorn.Server(config).run(sockets=[bound])
        finally:
            memories.close()
