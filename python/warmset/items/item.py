"""Memories: short texts of their own, beside the conversations that they come from.

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

    from warmset.compact.distil import MemoryKind
    from warmset.store.derived import Made
    from warmset.store.records import Draft

_PUNCTUATION = re.compile(r"[^\w\s%$€£/.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One memory.

    Args:
        id: Its id, for `Memory.revise` and `Memory.erase`.
        text: What it says.
        kind: What it is.
        confidence: How sure it is, 0 to 1.
        conversation: The conversation that it belongs to; None if it is the tenant's.
        at: When it was made, UTC.
        sources: Ids of the records that it was made from, and goes with.
        meta: The caller's own fields.
        score: How well it answers the query; None without one.
    """

    id: int
    text: str
    kind: MemoryKind
    confidence: float
    conversation: str | None
    at: datetime
    sources: tuple[int, ...]
    meta: dict[str, Any]
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A memory that is to be kept.

    Args:
        text: What it says.
        kind: What it is.
        confidence: How sure it is.
        sources: Ids of the records that it is made from.
        meta: The caller's own fields.
        replaces: The hash of the text of which it is a new wording.
    """

    text: str
    kind: MemoryKind
    confidence: float
    sources: tuple[int, ...] = ()
    meta: Mapping[str, Any] | None = None
    replaces: bytes | None = None

    def draft(self, tenant: str, conversation: str | None, now: float) -> Draft:
        """Make its record."""
        fields = {
            "kind": self.kind,
            "confidence": self.confidence,
            "at": now,
            "meta": dict(self.meta) if self.meta else None,
            "replaces": None if self.replaces is None else self.replaces.hex(),
        }
        data = self.text.encode("utf-8", "surrogatepass")
        return derived_draft("distilled", tenant, conversation, fields, data, self.sources)


def says(text: str) -> bytes:
    """Return a digest of what a text says, whatever its case, spaces and punctuation."""
    plain = " ".join(_PUNCTUATION.sub(" ", text.casefold()).split()).rstrip(".")
    return content_hash(plain.encode("utf-8", "surrogatepass"))


def item(made: Made, text: str, score: float | None = None) -> MemoryItem:
    """Make a memory of its record."""
    fields = made.fields
    return MemoryItem(
        id=made.id,
        text=text,
        kind=fields.get("kind", "fact"),
        confidence=float(fields.get("confidence", 0.5)),
        conversation=made.conversation,
        at=datetime.fromtimestamp(float(fields.get("at", 0.0)), UTC),
        sources=made.sources,
        meta=dict(fields.get("meta") or {}),
        score=score,
    )
