"""What may stand in a payload: what the needs of a task name, each with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.embed import Vectors
    from warmset.items import MemoryItem, Origin
    from warmset.route.need import Priority

Classification: TypeAlias = Literal["essential", "supplementary", "redundant", "irrelevant"]
"""What a triage says of a candidate."""


NO_USE: Final = 0.5
"""What the worth of an item is multiplied by for each earlier task that had no use for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that a need names.

    Args:
        id: The id of its record.
        memory_id: Its name.
        memory_type: Its type.
        priority: The highest priority of the needs that name it.
        needs: The numbers of those needs, as they stand in the specification.
        similarity: How similar it is to the query, 0 to 1; None without a query.
        relevance: The similarity, 1 without a query, times what its age leaves of it.
        tokens: The tokens of its text.
        at: Its time, in microseconds since 1970 UTC.
        origin: Whose words it has.
        dependencies: Names of items that it cannot be understood without.
        derived_from: Names of items that it was made from.
        reward: How well it worked, 0 to 1; None if nobody said.
        confidence: How certain it is, 0 to 1.
        labels: Its session, module, pipeline, sections, keys and entities, where it has any.
        earlier: Tasks of the same pipeline that had no use for it: each halves its worth.
    """

    id: int
    memory_id: str
    memory_type: str
    priority: Priority
    needs: tuple[int, ...]
    similarity: float | None
    relevance: float
    tokens: int
    at: int
    origin: Origin
    dependencies: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    reward: float | None = None
    confidence: float = 1.0
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()

    @property
    def worth(self) -> float:
        """What it is worth for the task: its relevance, by how well it worked before."""
        worth = self.relevance if self.reward is None else self.relevance * self.reward
        return worth * NO_USE ** len(self.earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedReport:
    """What came of one need.

    Args:
        number: Its place in the specification.
        matched: How many items have all that it names, whatever their similarity.
        found: How many of them are candidates.
        left: Why it was left out, if its condition does not hold or cannot be looked at.
        lacking: By column, how many items would match if they had any name in it.
    """

    number: int
    matched: int = 0
    found: int = 0
    left: str | None = None
    lacking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The candidates of a task.

    Args:
        candidates: The candidates, each once: essential ones first, then by worth, ties by id.
        superseded: Ids and names of items that only a newer item keeps out, with its id.
        needs: What came of each need.
        vector: The vector that they were compared with, shape (dim,); None without one.
    """

    candidates: Sequence[Candidate]
    superseded: Sequence[tuple[int, str, int]] = ()
    needs: Sequence[NeedReport] = ()
    vector: Vectors | None = field(default=None, compare=False)


def labels_of(names: Mapping[str, Sequence[str] | str | None]) -> dict[str, Sequence[str]]:
    """Return labels without those that are empty."""
    return {
        label: [one] if isinstance(one, str) else tuple(one) for label, one in names.items() if one
    }


def of_item(item: MemoryItem, **given: Any) -> Candidate:
    """Return an item that was read as a candidate."""
    return Candidate(
        id=item.id,
        memory_id=item.memory_id,
        memory_type=item.memory_type,
        tokens=item.token_count,
        at=int(item.timestamp.timestamp() * 1_000_000),
        origin=item.origin or "import",
        dependencies=item.dependencies,
        derived_from=item.derived_from,
        reward=item.reward,
        confidence=item.confidence,
        labels=labels_of(
            {
                "session": item.session_id,
                "module": item.module_context,
                "pipeline": item.pipeline,
                "sections": item.sections,
                "keys": item.keys,
                "entities": item.entities,
            }
        ),
        **given,
    )
