"""The result of a compaction: the messages that stay, statistics, and why each turn was dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from warmset.messages import Thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from warmset.evict import Inserted
    from warmset.messages import Dialect


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a turn's score.

    Args:
        role: The weight of its role.
        recency: 0.1 for the oldest turn to 1 for the newest; system messages are not counted, and
            have 1.
        similarity: Its cosine with the query; 0.5 without a query or a vector.
        coverage: How far its content is known elsewhere, 0 to 1.
    """

    role: float
    recency: float
    similarity: float
    coverage: float


@dataclass(frozen=True, slots=True)
class DroppedMessage:
    """A dropped message.

    Args:
        id: Its position in the input list.
        score: Its own score; the best score in its unit decided.
        terms: The terms of the score.
        reason: Why it was dropped, in words.
        handle: The handle for `Memory.restore`; None without a memory.
        store_id: Its id in the store, if it is a turn there.
    """

    id: int
    score: float
    terms: Terms
    reason: str
    handle: str | None = None
    store_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactStats:
    """The statistics of a compaction.

    Args:
        before_tokens: The tokens of the input list.
        after_tokens: The tokens of the output list, filler messages included.
        budget: The budget in tokens.
        over_budget: Whether the messages that must stay exceed the budget by themselves.
        messages: The number of input messages.
        dropped: The number of dropped messages.
        dropped_pct: Dropped messages in percent of all messages.
        tokens_pct: Saved tokens in percent of all tokens.
        embedding: Whether there was an embedder.
        embedder: Its name; "none" without one.
        signals: The signals that were used.
        missing: The signals that were not used, each with the reason.
        distilled: The number of memories that were made of dropped turns.
        distilled_kinds: The number of memories of each type.
        milliseconds: How long the compaction took.
    """

    before_tokens: int
    after_tokens: int
    budget: int
    over_budget: bool
    messages: int
    dropped: int
    dropped_pct: float
    tokens_pct: float
    embedding: bool
    embedder: str
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
    """The dropped messages, in order: a lazy sequence over columns."""

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
    """The result of `compact_context`.

    Args:
        messages: The messages that stay, in order: the caller's own objects, and filler messages.
        stats: The statistics.
        dropped: The dropped messages, in the order of the list.
        inserted: The filler messages, between two neighbours of the same role.
        dialect: The dialect of the messages.
        episode: The id of this run's record, if there is a memory.
        thinking: What became of the model's thinking: where something before it changed, it is left
            out of the messages that stay.
    """

    messages: list[Any]
    stats: CompactStats
    dropped: DroppedMessages
    inserted: tuple[Inserted, ...]
    dialect: Dialect
    episode: int | None = None
    thinking: Thinking = field(default_factory=Thinking)

    def __len__(self) -> int:
        return len(self.messages)
