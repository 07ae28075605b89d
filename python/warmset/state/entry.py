"""What is known of one message without reading it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.messages import Facts
    from warmset.messages.prefix import Prefix
    from warmset.store.descriptions import Described


@dataclass(frozen=True, slots=True)
class Entry:
    """One message, known by its facts; its text stays in the store.

    Args:
        id: The store's sequence number.
        facts: Role and links; the text is left out.
        at: When it was said, in seconds since 1970 UTC.
        speaker: Who said it, where somebody is named.
        session: Number of the session within the conversation.
        tokens: What it costs verbatim, with overhead.
        decision: Whether it settles something.
        blank: Whether it says nothing that could be indexed.
        extra: The caller's own fields.
        behind: What a reply with thinking was made behind, if that is known.
        key: The caller's own name of it, if there is one.
        described: The description that a callable made; None while the built-in rules describe it.
    """

    id: int
    facts: Facts
    at: float
    speaker: str | None
    session: int
    tokens: int
    decision: bool
    blank: bool
    extra: dict[str, object] | None
    behind: Prefix | None = None
    key: str | None = None
    described: Described | None = None
