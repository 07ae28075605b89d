"""Log messages to clients: what each client asked for, in the way of its era.

A client of the handshake sets a level once for its session; one of the stateless protocol asks with
each request, and the SDK keeps to that.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, get_args

from warmset._extras import extra

with extra("mcp"):
    from mcp.shared.exceptions import MCPDeprecationWarning
    from mcp_types import LoggingLevel

if TYPE_CHECKING:
    from warmset.serve.mcp.served import Request

SESSION: Final = "mcp-session-id"
"""The header that names a session over HTTP."""

MOST: Final = 1_024
"""The most sessions whose level is kept."""

_ORDER: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)


class Levels:
    """The levels that sessions asked for; only the event loop's thread uses it."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._levels: OrderedDict[str | None, LoggingLevel] = OrderedDict()

    def set(self, request: Request, level: LoggingLevel) -> None:
        """Keep the level of a request's session."""
        name = _session(request)
        self._levels[name] = level
        self._levels.move_to_end(name)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)

    def lets_through(self, request: Request, level: LoggingLevel) -> bool:
        """Return whether a session wants messages of a level; one that set none wants all."""
        least = self._levels.get(_session(request), _ORDER[0])
        return _ORDER.index(level) >= _ORDER.index(least)

    async def send(self, request: Request, level: LoggingLevel, text: str) -> None:
        """Send a log message with the answer to a request, if its client wants it."""
        if not self.lets_through(request, level):
            return
        with warnings.catch_warnings():  # the protocol's older era is served on purpose
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            sending = request.session.send_log_message(
                level, text, logger="warmset", related_request_id=request.request_id
            )
        await sending


def _session(request: Request) -> str | None:
    """Return the name of a request's session; None on a transport with one session."""
    headers = getattr(request.request, "headers", None)
    return None if headers is None else headers.get(SESSION)
