"""A list that fits, and what became of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.evict.view import StandInKind
    from warmset.messages import Dialect, Message
    from warmset.tokens import TokenCount


@dataclass(frozen=True, slots=True)
class Evicted:
    """Messages that left together.

    Args:
        indices: Their positions in the list that was given.
        tokens: What they cost.
        reason: Why they left, in words.
        handle: Where they can be read, if there is a store.
    """

    indices: tuple[int, ...]
    tokens: int
    reason: str
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Inserted:
    """A message that stands for others: neither one that was given nor one that stayed.

    Args:
        index: Its position in the list that came out.
        kind: "placeholder" for a cleared result, "handle" for one that went to a store, "summary",
            "gap" where two neighbours would have had one role.
        stands_for: Positions, in the list that was given, of what it stands for.
        handle: Where that can be read, if it went to a store.
    """

    index: int
    kind: StandInKind
    stands_for: tuple[int, ...]
    handle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """A list that fits its budget.

    Args:
        messages: What to send; messages that stayed are the objects that were given.
        tokens: What it costs, by the counter that was used, what travels beside it included.
        budget: What it was allowed to cost.
        dialect: How the messages are written.
        kept: Positions, in the list that was given, of the messages that stayed.
        evicted: What left, in the order in which it left.
        inserted: What stands for messages that left.
        orphans: Positions of tool results without a call, which providers refuse; see `repair`.
        notes: What policies have to tell: why no summary was used, how much one lacks.
    """

    messages: list[Message]
    tokens: TokenCount
    budget: int
    dialect: Dialect
    kept: tuple[int, ...]
    evicted: tuple[Evicted, ...] = ()
    inserted: tuple[Inserted, ...] = ()
    orphans: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.messages)
