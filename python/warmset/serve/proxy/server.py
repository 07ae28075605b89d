"""The proxy as a process: a socket, a store, and an end that loses nothing."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from warmset.serve.listening import Listening, address_of, settings
from warmset.serve.proxy.aliases import Aliases
from warmset.serve.proxy.app import application
from warmset.serve.proxy.callers import Callers
from warmset.serve.proxy.guard import Guard
from warmset.serve.proxy.memories import Memories
from warmset.serve.proxy.tenants import OneTenant, Tenants, secret_of
from warmset.serve.proxy.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from warmset.serve.proxy.gathered import Gathered
    from warmset.serve.proxy.guard import GuardOptions
    from warmset.serve.proxy.options import ProxyOptions


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
        tenant: Whose memory all requests use, whichever key they have; None for one of its own for
            each key.
    """

    memory: Path
    store: Mapping[str, Any]
    options: ProxyOptions
    guard: GuardOptions
    tenant: str | None = None

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
            tenants = tenants_of(self.memory) if self.tenant is None else OneTenant(self.tenant)
            callers = Callers(tenants, self.options)
            secret, names = secret_of(self.memory), self.options.names
            watcher = Watcher(secret=secret, names=names, gathered=gathered)
            app = application(memories, callers, self.options, watcher)
            yield Guard(app, self.guard, refused=watcher.refused)
        finally:
            memories.close()


def set_up_logging() -> None:
    """Show warnings on standard error, and none of the HTTP client's URLs.

    Google's clients may send their keys in them.
    """
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    ours = logging.getLogger("warmset")
    if all(isinstance(one, logging.NullHandler) for one in ours.handlers):
        shown = logging.StreamHandler()
        shown.setLevel(logging.WARNING)
        shown.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        ours.addHandler(shown)


def closing(app: ASGIApp, close: Callable[[], None]) -> ASGIApp:
    """Return an application that closes what it needs when its server ends.

    Nothing comes after that: a server ends the process by the very signal that told it to end.
    """

    async def closes(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            if scope["type"] == "lifespan":
                close()

    return closes


def run(serving: Serving, listening: Listening, *, ready: Callable[[str], None]) -> None:
    """Serve until the process is told to end.

    Args:
        serving: What is served.
        listening: Where it listens.
        ready: Called with the address once it can be reached.

    Raises:
        WarmsetError: The store cannot be opened, or nobody can listen there.
    """
    set_up_logging()
    with listening.bound() as bound, ExitStack() as store:
        app = closing(store.enter_context(serving.opened()), store.close)
        ready(address_of(bound))
        uvicorn.Server(uvicorn.Config(app, **settings(listening))).run(sockets=[bound])
