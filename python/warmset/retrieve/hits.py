"""What a search returns: hits in order, each with the terms of its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warmset.text.decisions import summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmset.engine.engine import Engine

SIGNALS: Final = (
    "dense",
    "lexical",
    "speaker",
    "date",
    "when",
    "number",
    "asking",
    "reply",
    "near",
    "session",
)
"""The signals in the order in which the core returns them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that a search found.

    Args:
        id: The message's id.
        score: The sum of the weighted terms.
        terms: What each signal gave, before its weight.
        conversation: The conversation that it is in.
        role: Who wrote it.
        speaker: Its speaker's name, where there is one.
        at: When it was said, UTC.
        tokens: What it costs verbatim.
        decision: Whether it settles something.
        summary: Its first 160 characters.
    """

    id: int
    score: float
    terms: dict[str, float]
    conversation: str
    role: str
    speaker: str | None
    at: datetime
    tokens: int
    decision: bool
    summary: str


class Found(Sequence[Hit]):
    """Hits in order, kept as columns; each becomes an object when it is looked at.

    Attributes:
        columns: Ids, best first, and their scores, as arrays.
        ids: The ids as a list.
        scores: The scores as a list.
        by: What decided: "fused", or "lexical" where no vector could be had.
        why: Why it is lexical only, else None.
    """

    def __init__(
        self,
        engine: Engine,
        columns: tuple[NDArray[Any], NDArray[Any], Sequence[NDArray[Any]]],
        *,
        by: str,
        why: str | None,
    ) -> None:
        self._engine = engine
        self.columns = columns[0].astype(np.int64), columns[1].astype(np.float64)
        self.ids: list[int] = columns[0].tolist()
        self.scores: list[float] = columns[1].tolist()
        self._terms = columns[2]
        self.by = by
        self.why = why

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._hit(place) for place in range(*at.indices(len(self)))]
        return self._hit(range(len(self))[at])

    def terms(self, at: int) -> dict[str, float]:
        """Return what each signal gave to one hit, before its weight."""
        return {name: float(column[at]) for name, column in zip(SIGNALS, self._terms, strict=True)}

    def _hit(self, at: int) -> Hit:
        ledger = self._engine.owner(self.ids[at])
        entry = ledger.entries[self.ids[at]]
        return Hit(
            id=entry.id,
            score=self.scores[at],
            terms=self.terms(at),
            conversation=ledger.name,
            role=entry.facts.role,
            speaker=entry.speaker,
            at=datetime.fromtimestamp(entry.at, UTC),
            tokens=entry.tokens,
            decision=entry.decision,
            summary=summarise(self._engine.text(entry.id)),
        )
