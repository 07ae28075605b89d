"""The interface of a memory for compactions: stored memories, and storage of dropped turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from warmset._core import Sayings
    from warmset.compact.reading import Read
    from warmset.compact.vectors import VectorCache
    from warmset.embed import Embedder, Vectors
    from warmset.messages import Dialect, Message


class Known(Protocol):
    """The stored memories, with their vectors and their hard facts."""

    def covers(
        self, cache: VectorCache, slots: NDArray[np.int64], /
    ) -> tuple[Sayings, NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return the memories that cover texts whose vectors are in a cache; slot -1 means no text.

        Returns:
            The facts of memories, the ids and exact cosines of the three nearest of each text,
            concatenated, and how many of them count.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Messages that are about to be dropped.

    Args:
        places: Their positions in the list, ascending.
        messages: The messages.
        reads: What was read of each.
        coverage: How far each is known elsewhere.
        dialect: The dialect of the messages.
        query: The query of the compaction.
        distill: Whether to make memories of novel messages.
        figures: The statistics of the run, for its record.
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
    """Where dropped messages are stored.

    Args:
        handles: Handles by position.
        store_ids: Ids of those that are turns of the conversation, by position.
        distilled: The number of memories that were made, by type.
        episode: The id of the run's record.
    """

    handles: Mapping[int, str] = field(default_factory=dict[int, str])
    store_ids: Mapping[int, int] = field(default_factory=dict[int, int])
    distilled: Mapping[str, int] = field(default_factory=dict[str, int])
    episode: int | None = None


class Keeper(Protocol):
    """A memory, as a compaction uses it."""

    @property
    def embedder(self) -> Embedder | None:
        """The memory's embedder; None if it searches by words alone."""
        ...

    def redacted(self, given: Sequence[Message], /) -> list[Message]:
        """Return messages as they may be embedded and stored; the same objects if unchanged."""
        ...

    def redacted_text(self, text: str, /) -> str:
        """Return a text as it may be embedded."""
        ...

    def known(self, given: Embedder | None, /) -> Known | None:
        """Return the stored memories with an embedder's vectors; None if there are none."""
        ...

    def vectors(
        self, given: Embedder, hashes: Collection[bytes], dialect: Dialect, /
    ) -> Mapping[bytes, Vectors]:
        """Return an embedder's stored vectors of messages, shape (dim,), by the messages' hashes.

        Only this tenant's messages are looked at. Nothing is derived from a message because its
        vector was found here: it is that of the given message, which has the same content.
        """
        ...

    def keep(self, leaving: Leaving, /) -> Left:
        """Store messages durably before they are dropped, and record the run."""
        ...


class Remembers(Protocol):
    """A `Memory` or a `Conversation`: an object with a keeper."""

    def __warmset_keeper__(self) -> Keeper:
        """Return the keeper."""
        ...
