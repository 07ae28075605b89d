"""Assembles a reply: from a stream of events, or from a body of JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset.messages.codec import dumps, loads
from warmset.messages.dialects import well_formed
from warmset.serve.replies.body import an_object, objects
from warmset.serve.replies.chat import ChatDraft
from warmset.serve.replies.contents import ContentsDraft
from warmset.serve.replies.events import Events
from warmset.serve.replies.interactions import InteractionsDraft
from warmset.serve.replies.messages import MessagesDraft
from warmset.serve.replies.reply import Assembler, Reply, Surface
from warmset.serve.replies.responses import ResponsesDraft

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.messages import Message
    from warmset.serve.replies.draft import Draft

LIMIT: Final = 64 << 20
"""The most bytes of an answer that are read, unless the caller says otherwise."""

_DRAFTS: Final[dict[Surface, Callable[[], Draft]]] = {
    "chat": ChatDraft,
    "responses": ResponsesDraft,
    "messages": MessagesDraft,
    "gemini": ContentsDraft,
    "interactions": InteractionsDraft,
}

_UNREADABLE: Final = (
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading an answer raises whose shape is not the documented one."""


def assembler_for(surface: Surface, content_type: str, *, limit: int = LIMIT) -> Assembler:
    """Return what assembles the reply of an answer.

    Args:
        surface: The API that answered.
        content_type: The answer's `Content-Type`. Where it names neither JSON nor events, as some
            servers do not, the first byte of the answer decides.
        limit: The most bytes that are read; with more, the reply is not complete.

    Returns:
        An assembler for this one answer.
    """
    make, kind = _DRAFTS[surface], content_type.lower()
    if "event-stream" in kind:
        return _Bounded(_Stream(make()), limit)
    return _Bounded(_Body(make) if "json" in kind else _Unnamed(make), limit)


class _Bounded:
    """Reads no more than the first bytes of an answer."""

    def __init__(self, inner: Assembler, limit: int) -> None:
        self._inner = inner
        self._room = limit
        self._is_over = False

    def feed(self, data: bytes) -> None:
        self._is_over = self._is_over or len(data) > self._room
        read = data[: self._room]
        self._room -= len(read)
        if read:
            self._inner.feed(read)

    def reply(self) -> Reply:
        found = self._inner.reply()
        return replace(found, is_complete=False) if self._is_over else found


class _Stream:
    """Reads events as they arrive."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._events = Events()
        self._is_readable = True

    def feed(self, data: bytes) -> None:
        if self._is_readable:
            self._read(data)

    def reply(self) -> Reply:
        if self._is_readable:
            self._read(None)
        return _usable(self._draft, is_readable=self._is_readable)

    def _read(self, data: bytes | None) -> None:
        try:
            for text in self._events.rest() if data is None else self._events.feed(data):
                if text == "[DONE]":
                    self._draft.end()
                else:
                    self._draft.event(an_object(text))
        except _UNREADABLE:
            self._is_readable = False


class _Body:
    """Keeps a body, and reads it when it is asked."""

    def __init__(self, make: Callable[[], Draft]) -> None:
        self._make = make
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        self._body += data

    def reply(self) -> Reply:
        draft = self._make()
        try:
            found, is_list = objects(bytes(self._body))
            for one in found:
                (draft.event if is_list else draft.whole)(one)
        except _UNREADABLE:
            return _usable(draft, is_readable=False)
        return _usable(draft, is_readable=True)


class _Unnamed:
    """Decides by the first visible byte whether it is JSON; no line of an event begins like it."""

    def __init__(self, make: Callable[[], Draft]) -> None:
        self._make = make
        self._seen = b""
        self._inner: Assembler | None = None

    def feed(self, data: bytes) -> None:
        if self._inner is None:
            data = self._seen + data
            begin = data.lstrip()[:1]
            if not begin:
                self._seen = data
                return
            self._inner = _Body(self._make) if begin in b"{[" else _Stream(self._make())
        self._inner.feed(data)

    def reply(self) -> Reply:
        return Reply() if self._inner is None else self._inner.reply()


def _usable(draft: Draft, *, is_readable: bool) -> Reply:
    """Return what a draft holds, without messages if it or one of them cannot be read."""
    try:
        found = draft.reply()
        messages, apart = _plain(found.messages), _plain(found.apart)
    except _UNREADABLE:
        return Reply()
    if not is_readable:
        return replace(found, messages=(), apart=(), is_complete=False)
    # The store refuses malformed messages.
    if not well_formed([*messages, *apart], draft.dialect):
        messages = apart = ()
    return replace(found, messages=messages, apart=apart)


def _plain(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return copies of messages that are sure to be plain JSON."""
    return tuple(loads(dumps(message)) for message in messages)
