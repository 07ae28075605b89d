"""The request of a window: the last user message of a conversation, or a text to send last."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.index.query_vectors import given_vector
from warmset.options import MODES, Mode

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.options import WindowOptions


@dataclass(frozen=True, slots=True)
class Request:
    """The request that a window is built for.

    Args:
        text: The text to search for; empty if there is no request.
        id: The id of its message; None if the text is not a message of the conversation.
        send: The text to send last, if it is not a message of the conversation.
        after: The last request before that text.
    """

    text: str
    id: int | None
    send: str | None
    after: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies this request among those of the conversation."""
        return (self.id, self.text, self.after)


def read_request(engine: Engine, ledger: Ledger, query: str | None) -> Request:
    """Find the request.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        query: The text of the request; None for the last user message.

    Returns:
        The request. A text that equals the pending user message is that message and is not sent
        twice.

    Raises:
        InvalidInputError: The query is not a string, or blank.
        InvalidMessageError: The query would follow tool calls that have no result yet.
    """
    live, accounts = ledger.live(), ledger.accounts()
    asked = accounts.asked_at
    if query is None:
        if asked is None:
            return Request("", None, None)
        return Request(engine.text(live[asked].id), live[asked].id, None)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError(f"query: expected a text, or None, found {query!r}")
    if asked is not None:
        answered = any(
            entry.facts.role == "assistant" and not entry.facts.calls for entry in live[asked + 1 :]
        )
        if not answered and engine.text(live[asked].id) == query:
            return Request(query, live[asked].id, None)
    for unit in map(accounts.unit, accounts.open):
        if unit.members[-1] >= (asked or 0):
            why = "its tool calls have no result yet; append the results first"
            raise InvalidMessageError(unit.members[0], why)
    return Request(query, None, query, None if asked is None else live[asked].id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The checked arguments of `Conversation.window`.

    Args:
        query: The request's text; None for the last user message.
        budget: The most tokens that the call's input may have.
        mode: How the window is built.
        options: The options that all calls share that build windows.
    """

    query: str | None
    budget: int
    mode: Mode
    options: WindowOptions

    @property
    def key(self) -> tuple[object, ...]:
        """The arguments that change which turns are chosen, for comparison with another call's."""
        vector = self.options.query_vector
        bytes_ = None if vector is None else blake2b(given_vector(vector).tobytes()).digest()
        return (self.budget, self.mode, *self.options.key, bytes_)

    def __post_init__(self) -> None:
        if not isinstance(self.mode, str) or self.mode not in MODES:
            raise InvalidInputError(
                f"mode: expected one of {', '.join(MODES)}, found {self.mode!r}"
            )
