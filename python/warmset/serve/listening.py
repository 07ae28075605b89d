"""Where a server over HTTP listens, and how its process serves."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from warmset.errors import InvalidInputError

GRACE: Final = 30
"""Seconds that open answers have to finish once the process is told to end."""

LARGEST_PORT: Final = 65_535

_BACKLOG: Final = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a server listens.

    Args:
        host: The address.
        port: The port; 0 for any that is free.
        grace: Seconds that open answers have to finish once the process is told to end.

    Raises:
        InvalidInputError: There is no such port.
    """

    host: str
    port: int
    grace: int = GRACE

    def __post_init__(self) -> None:
        if not 0 <= self.port <= LARGEST_PORT:
            raise InvalidInputError(f"port: expected 0 to {LARGEST_PORT}, found {self.port}")

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


def address_of(bound: socket.socket) -> str:
    """Return the base URL that leads to a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
