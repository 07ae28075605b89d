"""Memories: short texts that are stored besides conversations.

A memory is a record of kind "distilled": its text is the payload, the rest its meta.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from warmset._core import content_hash
from warmset.store.derived import derived_draft

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.compact.distil import MemoryType
    from warmset.store.derived import Made
    from warmset.store.records import Draft

_PUNCTUATION = re.compile(r"[^\w\s%$€£/.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """A memory.

    Args:
        id: The id of its record, for `Memory.revise` and `Memory.erase`.
        memory_id: The caller's name for it, else "memory:" and the record's id.
        text: Its text.
        memory_type: Its type: "correction", "preference", "fact", …
        confidence: How certain the text is, from 0 to 1.
        conversation: The conversation that it belongs to; None if all of the tenant's conversations
            share it.
        at: When it was stored, UTC.
        sources: Ids of the records that it was derived from; it is erased with any of them.
        meta: The caller's own fields.
        score: Its score for the query; None without a query.
    """

    id: int
    memory_id: str
    text: str
    memory_type: MemoryType
    confidence: float
    conversation: str | None
    at: datetime
    sources: tuple[int, ...]
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
    """

    text: str
    memory_type: MemoryType
    confidence: float
    sources: tuple[int, ...] = ()
    meta: Mapping[str, Any] | None = None
    replaces: bytes | None = None
    memory_id: str | None = None

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
        data = self.text.encode("utf-8", "surrogatepass")
        return derived_draft("distilled", tenant, conversation, fields, data, self.sources)


def says(text: str) -> bytes:
    """Return a digest of a text that ignores case, spaces and punctuation."""
    plain = " ".join(_PUNCTUATION.sub(" ", text.casefold()).split()).rstrip(".")
    return content_hash(plain.encode("utf-8", "surrogatepass"))


def named(made: Made) -> str | None:
    """Return the caller's name for a memory; None if there is none."""
    given = made.fields.get("memory_id")
    return given if isinstance(given, str) else None


def item(made: Made, text: str, score: float | None = None) -> MemoryItem:
    """Return the memory of a record."""
    fields = made.fields
    return MemoryItem(
        id=made.id,
        memory_id=named(made) or f"memory:{made.id}",
        text=text,
        memory_type=fields.get("kind", "fact"),
        confidence=float(fields.get("confidence", 0.5)),
        conversation=made.conversation,
        at=datetime.fromtimestamp(float(fields.get("at", 0.0)), UTC),
        sources=made.sources,
        meta=dict(fields.get("meta") or {}),
        score=score,
    )
