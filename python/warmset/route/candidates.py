"""What may stand in a payload: what the needs of a task name, each with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from warmset.items.rewards import FIX, UNKNOWN, expected_reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.items import MemoryItem, Origin
    from warmset.route.need import Priority
    from warmset.route.spec import TaskSpec

Classification: TypeAlias = Literal["essential", "supplementary", "redundant", "irrelevant"]
"""What a triage says of a candidate."""


LABELS: Final = ("session", "module", "pipeline", "sections", "keys", "entities")
"""The columns whose names a candidate shows."""

NO_USE: Final = 0.5
"""What the worth of an item is multiplied by for each earlier task that had no use for it."""


class Known(Protocol):
    """What is known of an item without reading it; the index of items has it, and `Facts` do."""

    @property
    def memory_id(self) -> str:
        """Its name."""
        ...

    @property
    def tokens(self) -> int:
        """The tokens of its text."""
        ...

    @property
    def at(self) -> int:
        """Its time, in microseconds since 1970 UTC."""
        ...

    @property
    def origin(self) -> Origin:
        """Whose words it has."""
        ...

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Names of items that it cannot be understood without."""
        ...

    @property
    def derived_from(self) -> tuple[str, ...]:
        """Names of items that it was made from."""
        ...

    @property
    def reward(self) -> float | None:
        """How well it worked, 0 to 1; None if nobody said."""
        ...

    @property
    def confidence(self) -> float:
        """How certain it is, 0 to 1."""
        ...

    @property
    def decay(self) -> float:
        """What its relevance is multiplied by for each hour, or turn, of its age."""
        ...

    def names(self, column: str) -> tuple[str, ...]:
        """Return its names in a column: "type", "session", "module", "sections", …."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of an item that lies elsewhere than in the index of items; see `Known`."""

    memory_id: str
    tokens: int
    at: int
    origin: Origin
    dependencies: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    reward: float | None = None
    confidence: float = 1.0
    decay: float = 1.0
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def names(self, column: str) -> tuple[str, ...]:
        """Return its names in a column; see `Known`."""
        return self.columns.get(column, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that a need names.

    Args:
        id: The id of its record.
        known: What is known of it.
        priority: The highest priority of the needs that name it.
        needs: The numbers of those needs, as they stand in the specification.
        similarity: How similar it is to the query, 0 to 1; None without a query.
        relevance: The similarity, 1 without a query, times what its age leaves of it.
        earlier: Tasks of the same pipeline that had no use for it: each halves its worth.
        untried: What its relevance is multiplied by where nobody said how well it worked.
    """

    id: int
    known: Known
    priority: Priority
    needs: tuple[int, ...]
    similarity: float | None
    relevance: float
    earlier: tuple[str, ...] = ()
    untried: float = 1.0

    @property
    def memory_id(self) -> str:
        """Its name."""
        return self.known.memory_id

    @property
    def memory_type(self) -> str:
        """Its type."""
        return self.known.names("type")[0]

    @property
    def tokens(self) -> int:
        """The tokens of its text."""
        return self.known.tokens

    @property
    def at(self) -> int:
        """Its time, in microseconds since 1970 UTC."""
        return self.known.at

    @property
    def origin(self) -> Origin:
        """Whose words it has."""
        return self.known.origin

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Names of items that it cannot be understood without."""
        return self.known.dependencies

    @property
    def derived_from(self) -> tuple[str, ...]:
        """Names of items that it was made from."""
        return self.known.derived_from

    @property
    def reward(self) -> float | None:
        """How well it worked, 0 to 1; None if nobody said.

        Of a fix of an error it is what is to be expected of it; see `Router.fix_for`.
        """
        return self.known.reward

    @property
    def confidence(self) -> float:
        """How certain it is, 0 to 1."""
        return self.known.confidence

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Its session, module, pipeline, sections, keys and entities, where it has any."""
        found = {name: self.known.names(name) for name in LABELS}
        return {name: names for name, names in found.items() if names}

    @property
    def worth(self) -> float:
        """What it is worth for the task: its relevance, by how well it worked before.

        A fix of an error that nobody tried counts as one that works every second time.
        """
        reward = self.known.reward
        worth = self.relevance * (self.untried if reward is None else reward)
        return worth * NO_USE ** len(self.earlier) if self.earlier else worth


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
        spec: What the task needs.
        candidates: The candidates, each once: essential ones first, then by worth, ties by id.
        superseded: Ids and names of items that only a newer item keeps out, with its id.
        needs: What came of each need.
        session: The name of the current session; None if there is none or it has no name.
        asked: The id of the message that is the request; see `Existing.asked`.
        timeless: Whether they are the same at any time, as long as nothing is stored.
    """

    spec: TaskSpec
    candidates: Sequence[Candidate]
    superseded: Sequence[tuple[int, str, int]] = ()
    needs: Sequence[NeedReport] = ()
    session: str | None = None
    asked: int | None = None
    timeless: bool = False


def untried(memory_type: str) -> float:
    """Return what is expected of an item of a type before anybody tried it."""
    return UNKNOWN if memory_type == FIX else 1.0


def facts_of(item: MemoryItem) -> Facts:
    """Return what is known of an item that was read."""
    columns: dict[str, Sequence[str | None]] = {
        "type": (item.memory_type,),
        "conversation": (item.conversation,),
        "session": (item.session_id,),
        "module": (item.module_context,),
        "pipeline": (item.pipeline,),
        "sections": item.sections,
        "keys": item.keys,
        "entities": item.entities,
    }
    return Facts(
        memory_id=item.memory_id,
        tokens=item.token_count,
        at=int(item.timestamp.timestamp() * 1_000_000),
        origin=item.origin or "import",
        dependencies=item.dependencies,
        derived_from=item.derived_from,
        reward=(
            expected_reward(item.reward, item.outcomes, item.origin)
            if item.memory_type == FIX
            else item.reward
        ),
        confidence=item.confidence,
        decay=item.relevance_decay,
        columns={
            column: tuple(name for name in names if name) for column, names in columns.items()
        },
    )
