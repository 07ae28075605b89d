"""What every source yields: one message, or something beside the messages, with its ids there.

A reader of a source knows nothing of the store. It says which of the source's own ids went into an
item, and `Writer` decides what of it is new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from warmset.messages import Dialect, Message

FIRST: Final = ""
"""What `Item.after` says of a message that begins a conversation anew."""

UNREADABLE: Final = "unreadable"
"""The kind of a line that is no JSON object."""

LONGEST: Final = 64 << 20
"""The most bytes of a line that is read; a turn of a store is no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One message of a source, or something beside the messages.

    Args:
        conversation: The name of the conversation.
        uids: The source's own ids of everything that went into it; the first names the item.
        kind: What the source calls it; "message" for a message.
        message: The message; None for what is none.
        spans: How many blocks of the message's content came with each id, if it can be taken apart.
        raw: The bytes as they stand in the source, for what is no message.
        kept: Whether what is no message is stored, or counted alone.
        after: The name of the message that it follows, `FIRST` if it follows none; None if that is
            the one before.
        at: Its time in seconds since 1970 UTC; None if the source has none.
        speaker: The speaker's name.
        session: The session's name.
        meta: Fields beside the message.
        dialect: The dialect of the message; None if any will do.
        side_of: The conversation that this one is a side chain of, or the agent.
        root: The session that it belongs to as a side chain of a side chain, if that is said.
        agent: The name by which side chains of this one know it, where that is not the
            conversation's.
        unless: Ids of which none is known: else what the item belongs to was stored without it.
    """

    conversation: str
    uids: tuple[str, ...]
    kind: str = "message"
    message: Message | None = None
    spans: tuple[int, ...] = ()
    raw: bytes = b""
    kept: bool = True
    after: str | None = None
    at: float | None = None
    speaker: str | None = None
    session: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    dialect: Dialect | None = None
    side_of: str | None = None
    root: str | None = None
    agent: str | None = None
    unless: tuple[str, ...] = ()


class Reading(Protocol):
    """One file that is read; it may grow meanwhile."""

    def items(self) -> Iterator[Item]:
        """Yield what has come since the last call and is complete."""
        ...

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield what was held back because more of it might have come; see `Parser.rest`."""
        ...

    @property
    def done(self) -> int:
        """Bytes that were read so far."""
        ...

    @property
    def torn(self) -> bool:
        """Whether the file ends in the middle of a line, which waits for its rest."""
        ...
