"""What a compaction asks of a memory: what is known already, and a place for what leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from warmset.compact.reading import Read
    from warmset.embed import Embedder, Vectors
    from warmset.messages import Dialect, Message


class Known(Protocol):
    """Memories that are stored, by their vectors and their hard facts."""

    def nearest(self, rows: Vectors, k: int, /) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return ids and true cosines of the nearest memories of each row, and how many count."""
        ...

    def hard(self, id_: int, /) -> frozenset[str]:
        """Return the numbers, paths and names of a memory."""
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

    def keeper(self) -> Keeper:
        """Return what a compaction asks."""
        ...
