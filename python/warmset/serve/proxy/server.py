"""The proxy as a process: a socket, a store, and an end that loses nothing."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack, contextmanager
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
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from warmset.serve.proxy.gathered import Gathered
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a proxy serves: enough to build it in any process.

    Args:
        memory: The store's directory.
        store: The options of `Memory.open`.
        options: What the proxy is told.
        guard: Who is let in.
    """

    memory: Path
    store: Mapping[str, Any]
    options: ProxyOptions
    guard: GuardOptions

    @contextmanager
    def opened(self, gathered: Gathered | None = None) -> Iterator[Guard]:
        """Open the store, and return the application; close the store at the end.

        Args:
            gathered: Where workers tell each other what they saw; None for one process alone.

        Raises:
            WarmsetError: The store cannot be opened.
        """
        memories = Memories(self.memory, self.store)
        try:
            callers = Callers(tenants_of(self.memory), self.options)
            secret, names = secret_of(self.memory), self.options.names
            watcher = Watcher(secret=secret, names=names, gathered=gathered)
            app = application(memories, callers, self.options, watcher)
            yield Guard(app, self.guard, refused=watcher.refused)
        finally:
            memories.close()


def settings(listening: Listening) -> dict[str, Any]:
    """Return the options of a server, which are the same for each process."""
    return {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,
        "backlog": _BACKLOG,
        "timeout_graceful_shutdown": listening.grace,
        "lifespan": "on",
    }


def silence() -> None:
    """Keep the HTTP client from logging URLs, where Google's clients may send their keys."""
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def address_of(bound: socket.socket) -> str:
    """Return the base URL that leads to a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(serving: Serving, listening: Listening, *, ready: Callable[[str], None]) -> None:
    """Serve until the process is told to end.

    Args:
        serving: What is served.
        listening: Where it listens.
        ready: Called with the address once it can be reached.

    Raises:
        WarmsetError: The store cannot be opened, or nobody can listen there.
    """
    silence()
    with listening.bound() as bound, serving.opened() as app:
        ready(address_of(bound))
        uvicorn.Server(uvicorn.Config(app, **settings(listening))).run(sockets=[bound])
