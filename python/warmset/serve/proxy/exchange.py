"""One exchange: the request with a window in the place of its list, and the reply, appended.

Everything here is synchronous and may fail; `Prepared` says what is to be sent in either case.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset._support.log import event, kind, room
from warmset.errors import BudgetTooSmall, InvalidInputError, WarmsetError
from warmset.serve.proxy.budgets import budget_of, told
from warmset.serve.proxy.fields import Fields
from warmset.serve.proxy.naming import HeaderError
from warmset.serve.proxy.options import mode_of
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from warmset.memory import Memory
    from warmset.options import Mode
    from warmset.serve.proxy.callers import Callers, Talk
    from warmset.serve.proxy.options import ProxyOptions
    from warmset.serve.proxy.surfaces import Surface
    from warmset.serve.proxy.watch import Seen
    from warmset.serve.replies import Reply
    from warmset.window.result import Window

LOG: Final = room("serve")

_ARGUMENTS: Final[dict[str, str]] = {
    "chat": "openai",
    "responses": "responses",
    "messages": "anthropic",
    "gemini": "gemini",
}
"""Which method of a window has the arguments of a call."""

_ENDLESS: Final = 1 << 40
"""A budget that no list exceeds."""

_ELSEWHERE: Final = ("previous_response_id", "conversation", "prompt")
"""Fields of Responses that name what the provider has; the list is then only the end of it."""


class Lender(Protocol):
    """What has the memories of tenants."""

    def of(self, tenant: str, /) -> AbstractContextManager[Memory]:
        """Lend the memory of a tenant."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request with a list of messages.

    Args:
        surface: What it is.
        headers: Its headers by their names in lower case.
        query: What stands behind the path.
        body: It.
        seen: Is told which model it asks; None if nobody wants to know.
    """

    surface: Surface
    headers: Mapping[str, str]
    query: str
    body: bytes
    seen: Seen | None = None


@dataclass(slots=True)
class Done:
    """What was done with an answer."""

    appended: bool = False
    settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is sent.

    Args:
        body: The body.
        beta: A value for the header `anthropic-beta` besides those of the request.
        window: The window in it; None if the request goes as it came.
        talk: The conversation that its reply belongs to; None if it is not known.
        bypass: Why the request goes as it came, if something failed.
        notes: What was changed besides the list.
        done: What was done with the answer.
    """

    body: bytes
    beta: str | None = None
    window: Window | None = None
    talk: Talk | None = None
    bypass: str | None = None
    notes: tuple[str, ...] = ()
    done: Done = field(default_factory=Done)

    def header(self) -> str:
        """Return what the answer says in `x-warmset`."""
        if self.bypass is not None:
            return f"bypass; reason={self.bypass}"
        if self.window is None:
            return "passed"
        report = self.window.report
        said = f"mode={report.mode}; tokens={self.window.tokens}; saved={report.saved:.2f}"
        return "; ".join((said, *self.notes))


class Exchanges:
    """Puts windows into requests, and appends what is answered.

    Args:
        memories: The store.
        who: Tells who asks, and in which conversation.
        options: What the proxy was told.
    """

    def __init__(self, memories: Lender, who: Callers, options: ProxyOptions) -> None:
        self._memories = memories
        self._who = who
        self._options = options

    def prepare(self, asked: Asked, *, most: int | None = None) -> Prepared:
        """Return what is sent for a request: as it came, if anything fails.

        Args:
            asked: The request.
            most: The most tokens, after the provider found more to be too long.

        Raises:
            HeaderError: A header that is for the proxy has a wrong value.
        """
        try:
            return self._prepared(asked, most)
        except HeaderError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails here, the request goes upstream
            return self.bypassed(asked, _reason(error), error)

    def bypassed(self, asked: Asked, reason: str, error: BaseException | None = None) -> Prepared:
        """Return a request as it came."""
        event(
            LOG,
            logging.WARNING,
            "bypassed",
            surface=asked.surface.name,
            reason=reason,
            error=None if error is None else kind(error),
        )
        return Prepared(body=asked.body, bypass=reason)

    def answered(self, asked: Asked, prepared: Prepared, reply: Reply) -> bool:
        """Append a reply to its conversation, bound to the list that it answers; note its usage.

        It may be called again for the same request when more of the answer is there: the reply is
        appended once.

        Args:
            asked: The request.
            prepared: What was sent for it.
            reply: What was answered so far.

        Returns:
            Whether it was appended; what was not comes with the next request. Never raises an
            `Exception`.
        """
        try:
            return self._appended(asked, prepared, reply)
        except Exception as error:  # noqa: BLE001 - the client has its answer already
            self.left(asked, error)
            return False

    def left(self, asked: Asked, error: BaseException) -> None:
        """Note that a reply was not appended; it comes with the next request."""
        event(LOG, logging.WARNING, "reply_left", surface=asked.surface.name, error=kind(error))

    def _appended(self, asked: Asked, prepared: Prepared, reply: Reply) -> bool:
        if prepared.window is not None and reply.usage is not None and not prepared.done.settled:
            prepared.done.settled = True
            response = {
                "usage": reply.usage,
                "model": reply.model,
                "input_transformations": list(reply.transformations),
            }
            with suppress(WarmsetError):
                prepared.window.settle(response)
        if not reply.is_complete or not reply.messages or prepared.done.appended:
            return False
        prepared.done.appended = True
        window, talk = prepared.window, prepared.talk
        if prepared.bypass is not None:  # the whole list is what the reply was made behind
            window, talk = self._whole(asked)
        if window is None or talk is None:
            return False
        with self._memories.of(talk.tenant) as memory:
            memory.conversation(talk.name).append(list(reply.messages), window=window)
        self._who.replied(talk, reply.messages, asked.surface)
        return True

    def _whole(self, asked: Asked) -> tuple[Window | None, Talk | None]:
        """Return the list of a request that went as it came, as a window."""
        body = Fields(asked.body).values
        made, talk = self._window(asked, body, budget=_ENDLESS, mode="full")
        given = body[asked.surface.messages]
        return (made, talk) if made.messages == given else (None, None)

    def _prepared(self, asked: Asked, most: int | None) -> Prepared:
        surface, options = asked.surface, self._options
        try:
            own = told(asked.headers.get("x-warmset-budget"))
            mode = mode_of(asked.headers.get("x-warmset-mode", options.mode))
        except InvalidInputError as error:
            raise HeaderError(str(error)) from None
        fields = Fields(asked.body)
        body = fields.values
        if asked.seen is not None:
            asked.seen.asks(body.get("model"))
        given = body.get(surface.messages)
        if not isinstance(given, list) or not given:
            return Prepared(body=asked.body)  # a text alone, or what the provider will refuse
        if surface.name == "responses" and any(body.get(name) for name in _ELSEWHERE):
            return Prepared(body=asked.body)
        budget = budget_of(body, own=own, most=options.budget)
        if surface.beside and body.get(surface.beside):
            budget -= count_tokens(json.dumps(body[surface.beside], ensure_ascii=False))
        budget = max(1, budget if most is None else min(budget, most))
        window, talk = self._window(asked, body, budget=budget, mode=mode)
        return _sent(asked, fields, window, talk)

    def _window(
        self, asked: Asked, body: Mapping[str, Any], *, budget: int, mode: Mode
    ) -> tuple[Window, Talk]:
        """Store a list, and make the window for it."""
        surface = asked.surface
        tenant = self._who.tenant(asked.headers, asked.query)
        with self._memories.of(tenant) as memory:
            talk = self._who.conversation(memory, asked.headers, body, surface)
            window = memory.process(
                body[surface.messages],
                conversation=talk.name,
                budget=budget,
                mode=mode,
                dialect=surface.dialect,
                system=body.get(surface.system) if surface.system else None,
                tools=body.get("tools"),
                model=body.get("model"),
                **self._options.window,
            )
        return window, talk


def _sent(asked: Asked, fields: Fields, window: Window, talk: Talk) -> Prepared:
    """Return a request with a window in the place of its list."""
    surface, body = asked.surface, fields.values
    changed: dict[str, Any] = {}
    notes: list[str] = []
    call: Callable[[], Mapping[str, Any]] = getattr(window, _ARGUMENTS[surface.name])
    arguments = call()
    messages = list(arguments[surface.messages])
    if messages != body[surface.messages]:
        changed[surface.messages] = messages
    if surface.system and window.system != body.get(surface.system):
        changed[surface.system] = window.system
    beta: str | None = arguments.get("extra_headers", {}).get("anthropic-beta")
    if window.report.thinking.disabled and surface.name == "messages":
        changed["thinking"] = {"type": "disabled"}
        notes.append("thinking=disabled")
    if beta is not None:
        notes.append(f"anthropic-beta={beta}")
    return Prepared(
        body=fields.written(changed) if changed else asked.body,
        beta=beta,
        window=window,
        talk=talk,
        notes=tuple(notes),
    )


def _reason(error: Exception) -> str:
    """Return why a request goes as it came, in a word that has nothing of its content."""
    if isinstance(error, BudgetTooSmall):
        return "budget_too_small"
    if isinstance(error, InvalidInputError):
        return "not_understood"
    if isinstance(error, WarmsetError):
        return type(error).__name__
    return "error"
