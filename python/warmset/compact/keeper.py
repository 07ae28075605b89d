"""What a compaction asks of a memory: what is known already, and a place for what leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import Sayings
    from warmset.compact.reading import Read
    from warmset.compact.vectors import VectorCache
    from warmset.embed import Embedder
    from warmset.messages import Dialect, Message


class Known(Protocol):
    """Memories that are stored, by their vectors and their hard facts."""

    def covers(
        self, cache: VectorCache, slots: NDArray[np.int64], /
    ) -> tuple[Sayings, NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return what covers texts whose vectors are in a cache; -1 is no text.

        Returns:
            What memories state, ids and true cosines of the three nearest of each text, end to end,
            and how many of them count.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Messages that are about to leave.

    Args:
        places: Their positions in the list, ascending.
        messages: The messages.
        reads: What is known of each.
        coverage: How far each is known elsewhere.
        dialect: How they are written.
        query: What was asked.
        distill: Whether memories are to be made of what is known nowhere.
        figures: What the run came to, for its record.
    """

    places: Sequence[int]
    messages: Sequence[Message]
    reads: Sequence[Read]
    coverage: Sequence[float]
    dialect: Dialect
    query: str | None
    distill: bool
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Where messages went.

    Args:
        handles: Handles by position.
        store_ids: Ids of those that are turns of the conversation, by position.
        distilled: How many memories were made, by kind.
        episode: The id of the run's record.
    """

    handles: Mapping[int, str] = field(default_factory=dict[int, str])
    store_ids: Mapping[int, int] = field(default_factory=dict[int, int])
    distilled: Mapping[str, int] = field(default_factory=dict[str, int])
    episode: int | None = None


class Keeper(Protocol):
    """A memory, as a compaction sees it."""

    @property
    def embedder(self) -> Embedder | None:
        """What makes the memory's vectors; None if it searches by words alone."""
        ...

    def known(self, given: Embedder | None, /) -> Known | None:
        """Return the stored memories with an embedder's vectors; None if there is none."""
        ...

    def keep(self, leaving: Leaving, /) -> Left:
        """Keep messages durably before they leave, and record the run."""
        ...


class Remembers(Protocol):
    """A `Memory` or a `Conversation`: what has a keeper."""

    def __warmset_keeper__(self) -> Keeper:
        """Return what a compaction asks."""
        ...
