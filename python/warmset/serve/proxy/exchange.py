"""One exchange: the request with a window in the place of its list, and the reply, appended.

Everything here is synchronous and may fail; `Prepared` says what is to be sent in either case.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset._support.log import event, kind, room
from warmset.errors import InvalidInputError, WarmsetError
from warmset.errors.reason import reason_of
from warmset.serve.proxy import response_ids
from warmset.serve.proxy.as_given import as_given, in_pieces
from warmset.serve.proxy.asked_body import AskedBody
from warmset.serve.proxy.budgets import budget_of, told
from warmset.serve.proxy.naming import HeaderError, conversation_of
from warmset.serve.proxy.options import mode_of
from warmset.serve.proxy.overlong import STEP, too_long
from warmset.serve.proxy.provided import (
    WAITING,
    Onward,
    Provided,
    is_continued,
    is_kept,
)
from warmset.serve.proxy.response_ids import Place
from warmset.serve.proxy.unbound import disabling, thinking_refused, unbound
from warmset.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from warmset.memory import Memory
    from warmset.messages import Message
    from warmset.options import Mode
    from warmset.serve.proxy.callers import Callers, Talk
    from warmset.serve.proxy.fields import Fields
    from warmset.serve.proxy.options import ProxyOptions
    from warmset.serve.proxy.resent import ResentList
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
    "interactions": "interactions",
}
"""Which method of a window has the arguments of a call."""

_ENDLESS: Final = 1 << 40
"""A budget that no list exceeds."""


class Lender(Protocol):
    """What has the memories of tenants."""

    def of(self, tenant: str, /) -> AbstractContextManager[Memory]:
        """Lend the memory of a tenant."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request with a list of messages, or for a response that the provider keeps.

    Args:
        surface: What it is.
        headers: Its headers by their names in lower case.
        query: What stands behind the path.
        body: It.
        seen: Is told which model it asks; None if nobody wants to know.
        fetched: The id of the response that it fetches; None if it makes one.
    """

    surface: Surface
    headers: Mapping[str, str]
    query: str
    body: bytes
    seen: Seen | None = None
    fetched: str | None = None


@dataclass(slots=True)
class Done:
    """What was done with an answer.

    Attributes:
        place: Where the response stands whose reply is still to come.
    """

    appended: bool = False
    settled: bool = False
    place: Place | None = None


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
        onward: Where what it brings is stored, if it goes as it came and is understood.
        unknown: Whether it goes on from what is not known here, so that nothing is stored of it.
        kept: Whether the provider keeps the response.
        waits: Whether the response may be made in the background.
        pieces: Whether the client sends the pieces of a stream back as they came.
        bare: Whether all thinking was left out of its list, for the provider refused it. What the
            reply was made behind is then no list of this side, so it comes with the next request.
        done: What was done with the answer.
    """

    body: bytes
    beta: str | None = None
    window: Window | None = None
    talk: Talk | None = None
    bypass: str | None = None
    notes: tuple[str, ...] = ()
    onward: Onward | None = None
    unknown: bool = False
    kept: bool = False
    waits: bool = False
    pieces: bool = False
    bare: bool = False
    done: Done = field(default_factory=Done)

    def header(self) -> str:
        """Return what the answer says in `x-warmset`."""
        return "; ".join((self._said(), *self.notes))

    def _said(self) -> str:
        if self.bypass is not None:
            return f"bypass; reason={self.bypass}"
        if self.window is None:
            said = "no" if self.unknown else "yes"
            known = self.unknown or self.onward is not None
            return f"passed; recorded={said}" if known else "passed"
        report = self.window.report
        return f"mode={report.mode}; tokens={self.window.tokens}; saved={report.saved:.2f}"


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
        self._provided = Provided()

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
            return self.bypassed(asked, reason_of(error), error)

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

    def again(
        self, asked: Asked, prepared: Prepared, status: int, said: bytes
    ) -> Callable[[], Prepared | None] | None:
        """Return what prepares a request anew that was refused; None if the answer goes back.

        So it does, too, if that returns None.

        Args:
            asked: The request.
            prepared: What was sent for it.
            status: The status of the answer.
            said: Its body.
        """
        if prepared.window is not None and too_long(status, said):
            return partial(self.prepare, asked, most=int(prepared.window.tokens * STEP))
        if asked.surface.dialect == "anthropic" and thinking_refused(status, said):
            return partial(self._bare, asked, prepared)
        return None

    def _bare(self, asked: Asked, prepared: Prepared) -> Prepared | None:
        """Return a request without any thinking; None if it cannot be changed."""
        made, error = None, None
        try:
            made = unbound(prepared.body)
        except Exception as caught:  # noqa: BLE001 - whatever fails here, the answer goes back
            error = kind(caught)
        event(
            LOG,
            logging.WARNING,
            "thinking_refused",
            surface=asked.surface.name,
            reason=prepared.bypass,
            error=error,
        )
        if made is None:
            return None
        body, disabled = made
        notes = ("thinking=left_out", *(("thinking=disabled",) if disabled else ()))
        return replace(prepared, body=body, notes=(*prepared.notes, *notes), bare=True)

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
        if prepared.bare:
            return False
        if prepared.window is not None and reply.usage is not None and not prepared.done.settled:
            prepared.done.settled = True
            response = {
                "usage": reply.usage,
                "model": reply.model,
                "input_transformations": list(reply.transformations),
            }
            with suppress(WarmsetError):
                prepared.window.settle(response)
        if prepared.done.appended:
            return False
        if not (reply.is_complete or _is_due(prepared, reply)):
            return False
        prepared.done.appended = reply.is_complete
        if prepared.bypass is not None:  # the whole list is what the reply was made behind
            prepared = replace(self._prepared(asked, None, whole=True), done=prepared.done)
        if prepared.onward is not None:
            return self._went_on(asked, prepared, reply)
        return self._replied(asked, prepared, reply)

    def _replied(self, asked: Asked, prepared: Prepared, reply: Reply) -> bool:
        """Append the reply to a window, and keep the id of the response."""
        window, talk = prepared.window, prepared.talk
        if window is None or talk is None:
            return False
        messages = (prepared.pieces and reply.apart) or reply.messages
        until = None if window.sent is None else window.sent.until or None
        with self._memories.of(talk.tenant) as memory:
            last = until
            if reply.is_complete and messages:
                # Behind what it answers, which may be erased, or no longer be the last message.
                stored = memory.conversation(talk.name).append(
                    list(messages), window=window, after=until
                )
                last = stored[-1]
            if prepared.kept and reply.id is not None and last is not None:
                place = Place(talk.name, last, waits=not reply.is_complete)
                response_ids.note(memory, reply.id, place)
                prepared.done.place = place
        if not reply.is_complete or not messages:
            return False
        self._who.replied(talk, messages, asked.surface)
        return True

    def _went_on(self, asked: Asked, prepared: Prepared, reply: Reply) -> bool:
        """Append what a request brought that went as it came, and its reply."""
        onward, done, talk = prepared.onward, prepared.done, prepared.talk
        if onward is None:
            return False
        if done.place is not None:  # what it brought is stored already
            onward = replace(onward, after=done.place.last, given=())
        with self._memories.of(onward.tenant) as memory:
            place = self._provided.append(memory, onward, reply, kept=prepared.kept)
        if place is None:
            return False
        done.place = place
        if talk is not None and not place.waits:
            self._who.replied(talk, reply.messages, asked.surface)
        return not place.waits

    def _prepared(self, asked: Asked, most: int | None, *, whole: bool = False) -> Prepared:
        """Return what is sent; with `whole`, what goes as it came, for what was answered to it."""
        surface, options = asked.surface, self._options
        try:
            own = told(asked.headers.get("x-warmset-budget"))
            mode = mode_of(asked.headers.get("x-warmset-mode", options.mode))
        except InvalidInputError as error:
            raise HeaderError(str(error)) from None
        if asked.fetched is not None:
            return self._fetched(asked, asked.fetched)
        asked_body = AskedBody(asked.body, surface, partial(self._read, asked))
        fields, given = asked_body.fields, asked_body.given
        body = fields.values
        if asked.seen is not None:
            asked.seen.asks(body.get("model"))
        if is_continued(surface, body) or (surface.name == "responses" and body.get("prompt")):
            return self._continued(asked, asked_body)
        if given is None or body.get("compaction"):
            # What the provider will refuse, or a summary that stands for these very messages.
            return Prepared(body=asked.body)
        budget = budget_of(body, own=own, most=options.budget)
        if surface.beside and body.get(surface.beside):
            budget -= count_tokens(json.dumps(body[surface.beside], ensure_ascii=False))
        budget = max(1, budget if most is None else min(budget, most))
        if whole or (most is None and body.get("context_management")):
            # Two do not shorten one list, unless the provider found it too long.
            budget, mode = _ENDLESS, "full"
        window, talk = self._window(asked, asked_body, given, budget=budget, mode=mode)
        if whole and as_given(surface, window.messages, given) != given:
            return Prepared(body=asked.body)
        prepared = _sent(asked, fields, given, window, talk)
        return replace(
            prepared,
            kept=is_kept(surface, body),
            waits=body.get("background") is True,
            pieces=in_pieces(surface, asked.headers, given),
        )

    def _read(self, asked: Asked, text: str, start: int) -> tuple[ResentList, int] | None:
        """Read the list of a request."""
        with self._memories.of(self._who.tenant(asked.headers, asked.query)) as memory:
            return self._who.read(memory, text, start)

    def _fetched(self, asked: Asked, id_: str) -> Prepared:
        """Return a request for a response whose reply may be waited for."""
        with self._memories.of(self._who.tenant(asked.headers, asked.query)) as memory:
            onward = self._provided.fetched(memory, id_)
        return Prepared(body=asked.body, onward=onward, kept=True)

    def _continued(self, asked: Asked, asked_body: AskedBody) -> Prepared:
        """Return a request that goes as it came, for its list is not all that the model reads."""
        surface, talk, onward = asked.surface, None, None
        body, given = asked_body.fields.values, asked_body.given
        with self._memories.of(self._who.tenant(asked.headers, asked.query)) as memory:
            if given is not None and is_continued(surface, body):
                named = conversation_of(asked.headers, body, self._options)
                onward = self._provided.onward(memory, surface, body, given, named)
            elif given is not None:
                talk = self._who.conversation(
                    memory, asked.headers, body, surface, asked_body.listed
                )
                last = memory.conversation(talk.name).sync(given).head
                if last is not None:
                    onward = Onward(tenant=memory.tenant, conversation=talk.name, after=last)
        if onward is None:
            event(LOG, logging.INFO, "not_recorded", surface=surface.name)
        return Prepared(
            body=asked.body,
            talk=talk,
            onward=onward,
            unknown=onward is None,
            kept=is_kept(surface, body),
            waits=body.get("background") is True,
        )

    def _window(
        self,
        asked: Asked,
        asked_body: AskedBody,
        given: Sequence[Message],
        *,
        budget: int,
        mode: Mode,
    ) -> tuple[Window, Talk]:
        """Store a list, and make the window for it."""
        surface, body = asked.surface, asked_body.fields.values
        tenant = self._who.tenant(asked.headers, asked.query)
        with self._memories.of(tenant) as memory:
            talk = self._who.conversation(memory, asked.headers, body, surface, asked_body.listed)
            window = memory.process(
                given,
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


def _is_due(prepared: Prepared, reply: Reply) -> bool:
    """Return whether an answer says that its reply is to come, for the first time."""
    return (
        prepared.waits
        and prepared.done.place is None
        and reply.id is not None
        and reply.stop in WAITING
    )


def _sent(
    asked: Asked, fields: Fields, given: Sequence[Message], window: Window, talk: Talk
) -> Prepared:
    """Return a request with a window in the place of its list."""
    surface, body = asked.surface, fields.values
    changed: dict[str, Any] = {}
    notes: list[str] = []
    call: Callable[[], Mapping[str, Any]] = getattr(window, _ARGUMENTS[surface.name])
    arguments = call()
    messages = as_given(surface, arguments[surface.messages], given)
    if messages != given:
        changed[surface.messages] = messages
    if surface.system and window.system != body.get(surface.system):
        changed[surface.system] = window.system
    beta: str | None = arguments.get("extra_headers", {}).get("anthropic-beta")
    if window.report.thinking.disabled and surface.name == "messages":
        changed |= disabling(body)
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
