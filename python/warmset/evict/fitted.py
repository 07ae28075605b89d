"""The result of `fit`: the list that fits, and what happened to the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warmset.messages import Thinking

if TYPE_CHECKING:
    from warmset.evict.view import StandInKind
    from warmset.messages import Dialect
    from warmset.tokens import TokenCount


@dataclass(frozen=True, slots=True)
class Evicted:
    """Messages that were evicted together.

    Args:
        indices: Their positions in the input list.
        tokens: Their tokens.
        reason: Why they were evicted, in words.
        handle: The handle by which they can be read, if there is a store.
    """

    indices: tuple[int, ...]
    tokens: int
    reason: str
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Inserted:
    """A message that was inserted in place of others.

    Args:
        index: Its position in the output list.
        kind: "placeholder" for a cleared result, "handle" for a result moved to a store, "summary",
            "collapsed" for tool calls written as one line each, or "gap" for a filler message
            between two neighbours of the same role.
        stands_for: Positions in the input list of the messages that it replaces.
        handle: The handle by which they can be read, if they were stored; several are separated by
            spaces.
    """

    index: int
    kind: StandInKind
    stands_for: tuple[int, ...]
    handle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """A list that fits its budget.

    Args:
        messages: The messages to send; those that stayed are the caller's own objects.
        tokens: All tokens by the counter that was used, system prompt and tools included.
        budget: The budget in tokens.
        dialect: The dialect of the messages.
        kept: Positions in the input list of the messages that stayed.
        evicted: The messages that were evicted, in the order of eviction.
        inserted: The messages that replace evicted ones.
        orphans: Positions of tool results without a call, which providers refuse; see `repair`.
        notes: Remarks of policies, in words: why no summary was used, what one lacks.
        thinking: What became of the model's thinking: where something before it changed, it is left
            out of the messages that stayed.
    """

    messages: list[Any]
    tokens: TokenCount
    budget: int
    dialect: Dialect
    kept: tuple[int, ...]
    evicted: tuple[Evicted, ...] = ()
    inserted: tuple[Inserted, ...] = ()
    orphans: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    thinking: Thinking = field(default_factory=Thinking)

    def __len__(self) -> int:
        return len(self.messages)
