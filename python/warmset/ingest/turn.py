"""The results of reading a message and of synchronising a list."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from warmset._support.integers import whole_number
from warmset.errors import InvalidInputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.engine.engine import Engine
    from warmset.messages import Message
    from warmset.state.ledger import Ledger


class Turn(dict[str, Any]):
    """A stored message, JSON-equal to the appended one, with its metadata.

    Attributes:
        id: The message's id.
        conversation: The name of its conversation.
        at: The time of the message, UTC.
        speaker: Its speaker's name, if there is one.
        meta: The caller's own fields.
        key: The caller's own name of it, if `append` got one.
        live: Whether it is on the conversation's current path.
    """

    __slots__ = ("at", "conversation", "id", "key", "live", "meta", "speaker")

    id: int
    conversation: str
    at: datetime
    speaker: str | None
    meta: dict[str, Any]
    key: str | None
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
        redacted: The number of new messages of which text was left out, by the redaction hook or
            because it stood in `<private>` tags.
        head: The id of the last message of the list, for `append(reply, after=synced.head)` where
            others may have stored another list meanwhile; None if the list is empty. Of messages
            that wait for another process, the last one before them.
    """

    kept: int
    appended: list[int]
    branched_at: int | None
    recognised: int = 0
    left: int = 0
    redacted: int = 0
    head: int | None = None

    @property
    def left_most(self) -> bool:
        """Whether the list left more than half of the previous path."""
        return self.left > (self.branched_at or 0)


def id_of(given: object) -> int:
    """Check an id, and return it.

    Raises:
        InvalidInputError: It is not an integer.
    """
    number = whole_number(given)
    if number is None:
        raise InvalidInputError(f"ids: expected an id or several, found {given!r:.80}")
    return number


def read_turns(engine: Engine, ledger: Ledger, ids: Sequence[int]) -> list[Turn]:
    """Read messages of a conversation in one go; those that were erased are left out.

    Raises:
        StoreError: One could not be read.
    """
    with engine.lock:
        there = [id_ for id_ in ids if id_ in ledger.entries]
        pairs = zip(there, engine.messages(there), strict=True)
        return [_turn(ledger, id_, message) for id_, message in pairs]


def read_turn(engine: Engine, ledger: Ledger, id_: int) -> Turn:
    """Read a message of a conversation.

    Raises:
        NotFound: The conversation has no message with that id.
        StoreError: It could not be read.
    """
    if id_ not in ledger.entries:
        raise NotFound(f"conversation {ledger.name!r} has no message with id {id_}")
    return _turn(ledger, id_, engine.message(id_))


def _turn(ledger: Ledger, id_: int, message: Message) -> Turn:
    entry, turn = ledger.entries[id_], Turn(message)
    turn.id = id_
    turn.conversation = ledger.name
    turn.at = datetime.fromtimestamp(entry.at, UTC)
    turn.speaker = entry.speaker
    turn.meta = deepcopy(cast("dict[str, Any]", entry.extra or {}))
    turn.key = entry.key
    turn.live = ledger.is_live(id_)
    return turn
