"""A message read back, and how a list met what was known."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from warmset.errors import InvalidInputError, NotFound

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger


class Turn(dict[str, Any]):
    """A message read back from the store: JSON-equal to what was appended, with where it is from.

    Attributes:
        id: The message's id.
        conversation: The conversation that it is in.
        at: When it was said, UTC.
        speaker: Its speaker's name, where there is one.
        meta: The fields that the caller gave with it.
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
    """How a full list met what was known.

    Args:
        kept: Messages at the front that were known already.
        appended: Ids of the messages that were new; `Spooled` if another process kept the store
            busy, see `Memory.open`.
        branched_at: Position at which the list left the current path; None if it did not.
    """

    kept: int
    appended: list[int]
    branched_at: int | None


def id_of(given: object) -> int:
    """Return an id as it is.

    Raises:
        InvalidInputError: It is no integer.
    """
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidInputError(f"ids: expected an id or several, found {given!r}")
    return given


def read_turn(engine: Engine, ledger: Ledger, id_: int) -> Turn:
    """Read a message of a conversation back.

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
