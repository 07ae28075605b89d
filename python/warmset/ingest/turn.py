"""The results of reading a message and of synchronising a list."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from warmset.errors import InvalidInputError, NotFound

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger


class Turn(dict[str, Any]):
    """A stored message, JSON-equal to the appended one, with its metadata.

    Attributes:
        id: The message's id.
        conversation: The name of its conversation.
        at: The time of the message, UTC.
        speaker: Its speaker's name, if there is one.
        meta: The caller's own fields.
        live: Whether it is on the conversation's current path.
    """

    id: int
    conversation: str
    at: datetime
    speaker: str | None
    meta: dict[str, Any]
    live: bool


@dataclass(frozen=True, slots=True)
class Synced:
    """The result of `Conversation.sync`.

    Args:
        kept: The number of messages at the front that were stored already.
        appended: Ids of the new messages; `Spooled` if another process held the store's lock, see
            `Memory.open`.
        branched_at: The position at which the list differs from the previous path; None if it does
            not.
        recognised: The number of messages at the front that one of the last windows of this
            conversation held; they stand for turns, or were made for the window, and are not
            stored.
        left: The number of messages of the previous path that are not on the new one.
    """

    kept: int
    appended: list[int]
    branched_at: int | None
    recognised: int = 0
    left: int = 0

    @property
    def left_most(self) -> bool:
        """Whether the list left more than half of the previous path."""
        return self.left > (self.branched_at or 0)


def id_of(given: object) -> int:
    """Check an id, and return it.

    Raises:
        InvalidInputError: It is not an integer.
    """
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise InvalidInputError(f"ids: expected an id or several, found {given!r}")
    return index(given)


def read_turn(engine: Engine, ledger: Ledger, id_: int) -> Turn:
    """Read a message of a conversation.

    Raises:
        NotFound: The conversation has no message with that id.
        StoreError: It could not be read.
    """
    entry = ledger.entries.get(id_)
    if entry is None:
        raise NotFound(f"conversation {ledger.name!r} has no message with id {id_}")
    turn = Turn(engine.message(id_))
    turn.id = id_
    turn.conversation = ledger.name
    turn.at = datetime.fromtimestamp(entry.at, UTC)
    turn.speaker = entry.speaker
    turn.meta = deepcopy(cast("dict[str, Any]", entry.extra or {}))
    turn.live = ledger.is_live(id_)
    return turn
