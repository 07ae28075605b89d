"""What a compaction returns: what stayed, what it came to, and why each turn left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from warmset.evict import Inserted
    from warmset.messages import Dialect


@dataclass(frozen=True, slots=True)
class Terms:
    """What a turn's score is made of.

    Args:
        role: What its role is worth.
        recency: 0.1 for the oldest turn to 1 for the newest.
        similarity: Its cosine with the query; 0.5 where there is no query or no vector.
        coverage: How far it is known elsewhere, 0 to 1.
    """

    role: float
    recency: float
    similarity: float
    coverage: float


@dataclass(frozen=True, slots=True)
class DroppedMessage:
    """One message that left.

    Args:
        id: Its position in the list that was given.
        score: Its own score; what decided is the best score in its unit.
        terms: What the score is made of.
        reason: Why it left, in words.
        handle: By which `Memory.restore` gives it back; None without a memory.
        store_id: Its id in the store, where it is a turn there.
    """

    id: int
    score: float
    terms: Terms
    reason: str
    handle: str | None = None
    store_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactStats:
    """What a compaction came to.

    Args:
        before_tokens: What the list cost.
        after_tokens: What is left costs, stand-ins for gaps included.
        budget: What it was allowed to cost.
        over_budget: Whether what must stay alone costs more than that.
        messages: Messages that were given.
        dropped: Messages that left.
        dropped_pct: The same in percent of the messages.
        tokens_pct: What was saved, in percent of the tokens.
        embedding: The embedder's name; "none" if there was none.
        signals: The signals that took part.
        missing: The ones that did not, each with the reason.
        distilled: Memories that were made of dropped turns.
        distilled_kinds: How many of each kind.
        milliseconds: How long it took.
    """

    before_tokens: int
    after_tokens: int
    budget: int
    over_budget: bool
    messages: int
    dropped: int
    dropped_pct: float
    tokens_pct: float
    embedding: str
    signals: tuple[str, ...]
    missing: Mapping[str, str]
    distilled: int
    distilled_kinds: Mapping[str, int]
    milliseconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        plain = asdict(self)
        return {**plain, "signals": list(self.signals), "missing": dict(self.missing)}


class DroppedMessages(Sequence[DroppedMessage]):
    """The messages that left, in order; kept as columns, each an object when it is looked at."""

    def __init__(
        self,
        places: NDArray[Any],
        scores: NDArray[Any],
        terms: Sequence[NDArray[Any]],
        *,
        floor: float | None,
        handles: Mapping[int, str] | None = None,
        store_ids: Mapping[int, int] | None = None,
    ) -> None:
        self.ids: list[int] = places.tolist()
        self._scores = scores
        self._terms = terms
        self._floor = floor
        self._handles: Mapping[int, str] = handles or {}
        self._store_ids: Mapping[int, int] = store_ids or {}

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> DroppedMessage: ...
    @overload
    def __getitem__(self, at: slice) -> list[DroppedMessage]: ...
    def __getitem__(self, at: int | slice) -> DroppedMessage | list[DroppedMessage]:
        if isinstance(at, slice):
            return [self._drop(one) for one in self.ids[at]]
        return self._drop(self.ids[at])

    def __repr__(self) -> str:
        return f"DroppedMessages({len(self.ids)} messages)"

    def _drop(self, place: int) -> DroppedMessage:
        terms = Terms(*(float(column[place]) for column in self._terms))
        return DroppedMessage(
            id=place,
            score=float(self._scores[place]),
            terms=terms,
            reason=self._reason(terms),
            handle=self._handles.get(place),
            store_id=self._store_ids.get(place),
        )

    def _reason(self, terms: Terms) -> str:
        if self._floor is None:
            return "what must stay leaves no room for anything else"
        known = f"it is known elsewhere ({terms.coverage:.2f}), and " if terms.coverage else ""
        return f"{known}better units took the room; the last of them has {self._floor:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What `compact_context` returns.

    Args:
        messages: What stayed, in its order: the objects that were given, and stand-ins for gaps.
        stats: What it came to.
        dropped: What left, in the order of the list.
        inserted: Stand-ins where two neighbours would have had one role.
        dialect: How the messages are written.
        episode: The id of the record of this run, where there is a memory.
    """

    messages: list[Any]
    stats: CompactStats
    dropped: DroppedMessages
    inserted: tuple[Inserted, ...]
    dialect: Dialect
    episode: int | None = None

    def __len__(self) -> int:
        return len(self.messages)
