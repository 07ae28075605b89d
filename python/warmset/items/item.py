"""Items: whatever may compete for a window, each with what is known of it.

A memory that `Memory.remember` stores is a record of kind "distilled": its text is the payload, the
rest its meta. Items that a caller puts are cells, see `cells`; a message is an item without a copy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from warmset._core import content_hash
from warmset.evict.slots import is_collapsed, stands_in
from warmset.options import CONFIDENCE
from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.compact.distil import MemoryType
    from warmset.messages import Facts
    from warmset.store.derived import Made
    from warmset.store.records import Draft

Origin: TypeAlias = Literal["user", "assistant", "tool", "import", "web"]
"""Whose words an item has; what is made from items has the least trusted one of theirs."""

ORIGINS: Final[tuple[Origin, ...]] = get_args(Origin)
"""The origins, the most trusted first."""

_ROLES: Final[dict[str, Origin]] = {"assistant": "assistant", "tool": "tool"}

_PUNCTUATION = re.compile(r"[^\w\s%$€£/.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """Something that is stored: a memory, a message, or what was put by `Memory.items`.

    Args:
        id: The id of its record; that of a memory or a message is for `Memory.revise` and
            `Memory.erase`. It changes when an item is put again.
        memory_id: The caller's name for it, else "memory:", "turn:" or "item:" and a number.
        memory_type: Its type. Memories have "correction", "preference", "fact", …, messages
            "conversation".
        text: Its text; that of `data` is its JSON.
        data: What was put in place of a text.
        summary: What it says, in few words.
        conversation: The conversation that it belongs to; None if all of the tenant's conversations
            share it.
        session_id: The session of the conversation, if one was given.
        timestamp: When it was said or stored, UTC.
        module_context: The module that made it, or that it was made for.
        pipeline: The run of modules that it was made in.
        sections: Labels of the sections of a document that it is from.
        keys: What it is known under.
        entities: Whom or what it names.
        token_count: The tokens of its text.
        relevance_decay: What its relevance is multiplied by for each hour, or turn, of its age.
        dependencies: Names of items without which it cannot be understood.
        supersedes: Names of items that it replaces.
        derived_from: Names of items that it was made from; it is erased with any of them.
        origin: Whose words these are; None if that is not known.
        reward: How well it worked, 0 to 1; None if nobody said. Of a fix of an error with outcomes
            it is their mean.
        confidence: How certain the text is, from 0 to 1.
        archived: Whether it is kept without being shown.
        outcomes: How many outcomes of a fix were reported; see `Router.outcome`.
        merged_into: The name of the item that says the same, if it was archived for that.
        pinned: Whether every window shows it; see `Memory.pin`.
        sources: Ids of the records that it was derived from; it is erased with any of them.
        meta: The caller's own fields.
        score: Its score for the query; None without a query.
    """

    id: int
    memory_id: str
    memory_type: str
    text: str
    data: Any = None
    summary: str | None = None
    conversation: str | None = None
    session_id: str | None = None
    timestamp: datetime
    module_context: str | None = None
    pipeline: str | None = None
    sections: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    token_count: int
    relevance_decay: float = 1.0
    dependencies: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    origin: Origin | None = None
    reward: float | None = None
    confidence: float = CONFIDENCE
    archived: bool = False
    outcomes: int = 0
    merged_into: str | None = None
    pinned: bool = False
    sources: tuple[int, ...] = ()
    meta: dict[str, Any]
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A memory that is not stored yet.

    Args:
        text: Its text.
        memory_type: Its type.
        confidence: How certain the text is, from 0 to 1.
        sources: Ids of the records that it is derived from.
        meta: The caller's own fields.
        replaces: The hash of the text that it replaces.
        memory_id: The caller's name for it; None if there is none.
        origin: Whose words these are; None if that is not known.
        pinned: Whether it is pinned from the beginning.
    """

    text: str
    memory_type: MemoryType
    confidence: float
    sources: tuple[int, ...] = ()
    meta: Mapping[str, Any] | None = None
    replaces: bytes | None = None
    memory_id: str | None = None
    origin: Origin | None = None
    pinned: bool = False

    def draft(self, tenant: str, conversation: str | None, now: float) -> Draft:
        """Return the draft of its record."""
        fields: dict[str, Any] = {
            "kind": self.memory_type,
            "confidence": self.confidence,
            "at": now,
            "meta": dict(self.meta) if self.meta else None,
            "replaces": None if self.replaces is None else self.replaces.hex(),
        }
        if self.memory_id is not None:
            fields["memory_id"] = self.memory_id
        if self.origin is not None:
            fields["origin"] = self.origin
        if self.pinned:
            fields["pinned"] = True
        data = self.text.encode("utf-8", "surrogatepass")
        return derived_draft("distilled", tenant, conversation, fields, data, self.sources)


def says(text: str) -> bytes:
    """Return a digest of a text that ignores case, spaces and punctuation."""
    plain = " ".join(_PUNCTUATION.sub(" ", text.casefold()).split()).rstrip(".")
    return content_hash(plain.encode("utf-8", "surrogatepass"))


def spoken(text: str) -> str:
    """Return the words of a text, without case and punctuation, each between two spaces."""
    words = (word.strip(".") for word in _PUNCTUATION.sub(" ", text.casefold()).split())
    return f" {' '.join(filter(None, words))} "


def named(made: Made) -> str | None:
    """Return the caller's name for a memory; None if there is none."""
    given = made.fields.get("memory_id")
    return given if isinstance(given, str) else None


def name_of(made: Made) -> str:
    """Return the name of a memory: its caller's, else one by its id."""
    return named(made) or f"memory:{made.id}"


def type_of(made: Made) -> MemoryType:
    """Return the type of a memory."""
    return cast("MemoryType", made.fields.get("kind", "fact"))


def made_at(made: Made) -> float:
    """Return when a memory was stored, in seconds since 1970 UTC."""
    return float(made.fields.get("at", 0.0))


def origin_of(made: Made) -> Origin | None:
    """Return whose words a memory has; None if that is not known, as of one of an older version."""
    given = made.fields.get("origin")
    return given if given in ORIGINS else None


def origin_of_message(facts: Facts, text: str | None = None) -> Origin:
    """Return whose words a message has.

    They are a tool's if it has results of tools, whatever its role is. A summary, and calls that
    were made one line each, stand for messages of which some may be a tool's.

    Args:
        facts: What is known of it.
        text: Its text, if that is not among the facts.
    """
    said = replace(facts, text=text) if text is not None else facts
    if facts.results or stands_in(said) or is_collapsed(said):
        return "tool"
    return _ROLES.get(facts.role, "user")


def is_trusted(made: Made) -> bool:
    """Return whether a memory may be pinned, or stand in a system slot.

    That is what a user said, or a caller set: a memory without an origin that was made from no
    record was stored by a caller, before origins were kept.
    """
    origin = origin_of(made)
    return origin == "user" or (made.fields.get("origin") is None and not made.sources)


def trust(origin: Origin | None) -> int:
    """Return how trusted an origin is, 0 the most; one that is not known is the least trusted."""
    return len(ORIGINS) if origin is None else ORIGINS.index(origin)


def trust_of(made: Made) -> int:
    """Return how trusted a memory is; see `trust`. What a caller set counts as a user's."""
    return 0 if is_trusted(made) else trust(origin_of(made))


def item(
    made: Made, text: str, tokens: int, score: float | None = None, *, pinned: bool = False
) -> MemoryItem:
    """Return the memory of a record, whose text has so many tokens."""
    fields = made.fields
    return MemoryItem(
        id=made.id,
        memory_id=name_of(made),
        text=text,
        token_count=tokens,
        memory_type=type_of(made),
        confidence=float(fields.get("confidence", 0.5)),
        conversation=made.conversation,
        origin=origin_of(made),
        pinned=pinned,
        timestamp=datetime.fromtimestamp(made_at(made), UTC),
        sources=made.sources,
        meta=dict(fields.get("meta") or {}),
        score=score,
    )
