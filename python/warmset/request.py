"""What a window is for: the last request of a conversation, or a text that is sent last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.config import MODES, Mode
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.queries import given_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.engine import Engine
    from warmset.ledger import Ledger
    from warmset.messages import System
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    Args:
        text: What is searched for; empty where nobody asks anything.
        id: The message that asks it; None where the text is no message of the conversation.
        send: The text to send last, where it is no message of the conversation.
        after: The last request before that text.
    """

    text: str
    id: int | None
    send: str | None
    after: int | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells this request from another one."""
        return (self.id, self.text, self.after)


def read_request(engine: Engine, ledger: Ledger, query: str | None) -> Request:
    """Find what is asked.

    Args:
        engine: Where texts are read.
        ledger: The conversation.
        query: A text; None for the last user message.

    Returns:
        The request. A text that equals the pending user message is that message and is not sent
        twice.

    Raises:
        InvalidInputError: The query is no text, or blank.
        InvalidMessageError: The query would be sent behind tool calls that have no result yet.
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
    """The options of a window, checked.

    Args:
        query: The request's text; None for the last user message.
        query_vector: Its vector, instead of embedding it.
        budget: Tokens that the call's input may have.
        mode: How the window is made.
        recent: Units before the request that are shown verbatim.
        shortlist: Entries that a picker sees.
        max_picked: Entries that a picker may return; None for as many as the picker says.
        wait: Seconds to wait for a remote embedder and for turns appended just before.
        index_share: The part of the budget that the scoped index may take; 0 leaves it out.
        dialect: How the window is to be written; None for as the conversation is.
        system: A system prompt beside the conversation.
        tools: Tool schemas that travel along.
        picker: Who picks, instead of the memory's picker.
        compaction: What has summaries ready, instead of the memory's.
    """

    query: str | None
    query_vector: object | None
    budget: int
    mode: Mode
    recent: int
    shortlist: int
    max_picked: int | None
    wait: float
    index_share: float
    dialect: str | None
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    picker: Picker | None
    compaction: PreparedCompaction | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells these options from other ones, as far as they change what is chosen."""
        vector = self.query_vector
        told = None if vector is None else hash(given_vector(vector).tobytes())
        return (
            self.budget,
            self.mode,
            self.recent,
            self.shortlist,
            self.max_picked,
            self.index_share,
            told,
        )

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InvalidInputError(
                f"mode: expected one of {', '.join(MODES)}, found {self.mode!r}"
            )
        for name, value, least in (
            ("recent", self.recent, 0),
            ("shortlist", self.shortlist, 1),
            ("max_picked", 1 if self.max_picked is None else self.max_picked, 1),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInputError(
                    f"{name}: expected an integer of at least {least}, found {value!r}"
                )
        for name, share in (("index_share", self.index_share), ("wait", self.wait)):
            if isinstance(share, bool) or not isinstance(share, (int, float)):
                raise InvalidInputError(f"{name}: expected a number, found {share!r}")
        if self.system is not None and not isinstance(self.system, (str, list, tuple)):
            raise InvalidInputError(f"system: expected a text or blocks, found {self.system!r}")
        if self.tools is not None and not isinstance(self.tools, (list, tuple)):
            raise InvalidInputError(f"tools: expected a list of schemas, found {self.tools!r}")
        if not 0 <= self.index_share < 1:
            raise InvalidInputError(
                f"index_share: expected at least 0 and below 1, found {self.index_share}"
            )
        if not 0 <= self.wait < float("inf"):
            raise InvalidInputError(f"wait: expected seconds, found {self.wait}")
