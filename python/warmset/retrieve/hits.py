"""The results of a search: hits in order, each with the terms of its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from warmset._support.shown import plain, table
from warmset.errors import Closed, Erased, NotFound
from warmset.options import MIN_MATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import SearchSignals
    from warmset.engine.engine import Engine
    from warmset.options import Weights

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

_NAMED: Final = 6
_LISTED: Final = 50
"""The most hits that a table of them shows."""


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        return (
            f"Hit(id={self.id}, score={self.score:.3f}, conversation={self.conversation!r}, "
            f"role={self.role!r}, tokens={self.tokens})"
        )

    def _repr_html_(self) -> str:
        rows = [(name, f"{value:.3f}") for name, value in self.terms.items() if value]
        return table(f"{self!r} {self.summary}", ("term", "value"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        found: dict[str, Any] = plain(self)
        return found


class Found(Sequence[Hit]):
    """The hits of a search, best first: a lazy sequence over columns.

    A hit is read when it is asked for. One whose turn was erased since raises `Erased` or
    `NotFound` at its index, and is left out of slices and of what is iterated, shown or copied: a
    hit then has another place there than its id has in `ids`. Hits that were not read before the
    memory was closed raise `Closed`, except those of a copy.

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
        columns: tuple[NDArray[np.int64], NDArray[np.float64], SearchSignals],
        *,
        by: str,
        why: str | None,
        pending: int = 0,
    ) -> None:
        self._engine: Engine | None = engine
        self._hits: list[Hit | None] = []  # of a copy; None for what was erased by then
        ids, scores, self._signals = columns
        self.columns = ids, scores
        self.ids: list[int] = ids.tolist()
        self.scores: list[float] = scores.tolist()
        self.by = by
        self.why = why
        self.pending = pending

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [*self._left(range(*at.indices(len(self))))]
        return self._hit(range(len(self))[at])

    def __iter__(self) -> Iterator[Hit]:
        """Yield the hits whose turns are still there."""
        return self._left(range(len(self)))

    def __reversed__(self) -> Iterator[Hit]:
        """Yield them from the last to the first."""
        return self._left(reversed(range(len(self))))

    def __repr__(self) -> str:
        return f"Found({len(self)} hits, by={self.by!r}, ids={_first(self.ids)})"

    def _repr_html_(self) -> str:
        names = ("id", "score", "conversation", "role", "time", "summary")
        rows = [
            (one.id, f"{one.score:.3f}", one.conversation, one.role, _minute(one.at), one.summary)
            for one in self[:_LISTED]
        ]
        return table(f"{self!r}", names, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, with all hits."""
        return {"by": self.by, "why": self.why, "pending": self.pending, "hits": plain(list(self))}

    def __getstate__(self) -> dict[str, Any]:
        hits = [self._there(at) for at in range(len(self))]
        return {**self.__dict__, "_hits": hits, "_engine": None}  # without the store

    def signal(self, name: str) -> NDArray[np.float32]:
        """Return the value of a signal for each hit, before its weight."""
        return self._signals.column(SIGNALS.index(name))

    def terms(self, at: int) -> dict[str, float]:
        """Return the value of each signal for a hit, before its weight."""
        return dict(zip(SIGNALS, self._signals.row(at), strict=True))

    def matches(self, weights: Weights) -> bool:
        """Return whether the best hits are on the subject, by meaning and words together."""
        least = MIN_MATCH * weights.dense
        return self._signals.match_by(weights.dense, weights.lexical, least)

    def _left(self, places: Iterable[int]) -> Iterator[Hit]:
        return (one for at in places if (one := self._there(at)) is not None)

    def _there(self, at: int) -> Hit | None:
        try:
            return self._hit(at)
        except (Erased, NotFound):
            return None

    def _hit(self, at: int) -> Hit:
        if self._engine is None:
            kept = self._hits[at]
            if kept is None:
                raise NotFound(f"message {self.ids[at]} was erased")
            return kept
        if self._engine.closed:
            raise Closed("the memory is closed; copy the hits before, for example with list()")
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
            summary=self._engine.summary_of(entry),
        )


def _first(ids: list[int]) -> str:
    shown = ", ".join(map(str, ids[:_NAMED]))
    return f"[{shown}{', ...' if len(ids) > _NAMED else ''}]"


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
