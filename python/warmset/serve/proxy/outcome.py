"""What became of a request: what is counted, shown and traced of it, and no text of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError
from warmset.money import Money

if TYPE_CHECKING:
    from warmset.money import Bill
    from warmset.serve.proxy.exchange import Prepared
    from warmset.serve.proxy.surfaces import Provider, Surface
    from warmset.serve.replies import Reply
    from warmset.window.result import Window

GONE: Final = 499
"""The status of a request whose client went before an answer began, as other servers log it."""

CRASHED: Final = 500
"""The status of a request over which the proxy itself failed."""

_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}")
_LEAST_ERROR: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a request.

    Args:
        surface: What it was; None if it passed through.
        provider: Whose API it was for.
        host: Where it went.
        port: The port there.
        model: The model that it asked.
        status: The status of the answer; 499 if the client went before there was one.
        error: Why it counts as failed, in a word; None if it does not.
        streamed: Whether the answer was a stream.
        prepared: What was sent; None if nothing was.
        reply: What was answered; None if that was not read.
        begun: When it was sent, in nanoseconds since the epoch.
        ended: When its answer ended.
    """

    surface: Surface | None
    provider: Provider
    host: str
    port: int
    model: str | None
    status: int
    error: str | None
    streamed: bool
    prepared: Prepared | None
    reply: Reply | None
    begun: int
    ended: int

    @property
    def answered(self) -> bool:
        """Whether the provider took it; what is refused is not paid, and is sent again."""
        return self.prepared is not None and self.status < _LEAST_ERROR

    @property
    def window(self) -> Window | None:
        """The window that was sent; None if it went as it came."""
        return None if self.prepared is None else self.prepared.window

    @property
    def bypass(self) -> str | None:
        """Why it went as it came, if something failed."""
        return None if self.prepared is None else self.prepared.bypass

    def bill(self) -> Bill | None:
        """Return what the provider says that it took; None if it does not say it."""
        if self.window is not None and self.window.report.money.actual is not None:
            return self.window.report.money.actual
        if self.reply is None or self.reply.usage is None:
            return None
        said = {"usage": self.reply.usage, "model": self.reply.model}
        try:
            return Money(fresh=0, cached=0, written=0).settle(said)
        except InvalidInputError:
            return None


def model_of(given: object) -> str | None:
    """Return the name of a model as it may be shown; None if it is none.

    Args:
        given: What a request or an answer has in its place, which may be anything.
    """
    return given if isinstance(given, str) and _MODEL.fullmatch(given) else None
