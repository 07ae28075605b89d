"""The results of a search: hits in order, each with the terms of its score."""

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
    """A message that a search found.

    Args:
        id: The message's id.
        score: The sum of the weighted terms.
        terms: The value of each signal, before its weight.
        conversation: The name of its conversation.
        role: Its role.
        speaker: Its speaker's name, if there is one.
        at: The time of the message, UTC.
        tokens: Its tokens.
        decision: Whether it contains a decision.
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
    """The hits of a search, best first: a lazy sequence over columns.

    Attributes:
        columns: Ids, best first, and their scores, as arrays.
        ids: The ids as a list.
        scores: The scores as a list.
        by: "fused", or "lexical" if there was no vector of the query.
        why: Why no vector was used, else None.
        pending: The number of turns that could be found by their words only, because their vectors
            were not there yet.
    """

    def __init__(
        self,
        engine: Engine,
        columns: tuple[NDArray[Any], NDArray[Any], Sequence[NDArray[Any]]],
        *,
        by: str,
        why: str | None,
        pending: int = 0,
    ) -> None:
        self._engine = engine
        self.columns = columns[0].astype(np.int64), columns[1].astype(np.float64)
        self.ids: list[int] = columns[0].tolist()
        self.scores: list[float] = columns[1].tolist()
        self._terms = columns[2]
        self.by = by
        self.why = why
        self.pending = pending

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._hit(place) for place in range(*at.indices(len(self)))]
        return self._hit(range(len(self))[at])

    def terms(self, at: int) -> dict[str, float]:
        """Return the value of each signal for a hit, before its weight."""
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
