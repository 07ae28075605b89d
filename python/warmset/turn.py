"""What goes into a conversation beside a message, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.records import TurnMeta

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from warmset.messages import Dialect


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
        appended: Ids of the messages that were new.
        branched_at: Position at which the list left the current path; None if it did not.
    """

    kept: int
    appended: list[int]
    branched_at: int | None


def turn_meta(
    at: float,
    speaker: str | None,
    session: str | int | None,
    dialect: Dialect | None,
    extra: Mapping[str, Any] | None,
) -> TurnMeta:
    """Check what is kept beside a message.

    Args:
        at: Seconds since 1970 UTC.
        speaker: Who said it.
        session: The session's name.
        dialect: How it is written, where it shows.
        extra: The caller's own fields.

    Returns:
        What is kept.

    Raises:
        InvalidInputError: A field has the wrong type.
    """
    if speaker is not None and (not isinstance(speaker, str) or not speaker.strip()):
        raise InvalidInputError(f"speaker: expected a name, found {speaker!r}")
    if session is not None and (isinstance(session, bool) or not isinstance(session, (str, int))):
        raise InvalidInputError(f"session: expected a name or a number, found {session!r}")
    return TurnMeta(
        at=at,
        speaker=speaker,
        session=None if session is None else str(session),
        dialect=dialect,
        extra=None if extra is None else dict(extra),
    )
