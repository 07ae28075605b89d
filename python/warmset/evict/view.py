"""What a policy sees of a list, and what it may ask for: plain values, nothing to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.evict.blob_store import OffloadStore
    from warmset.messages import Dialect, Facts, Message, Tools, UnitKind

StandInKind: TypeAlias = Literal["placeholder", "handle", "summary", "gap"]
"""What can stand for messages that left."""


@dataclass(frozen=True, slots=True)
class UnitView:
    """One unit of the list.

    Args:
        members: Positions of its messages in `View.messages`, ascending.
        kind: Whose it is; "tool" for calls with their results.
        cost: What it costs, in tokens.
        protected: Whether it must stay as it is.
    """

    members: tuple[int, ...]
    kind: UnitKind
    cost: int
    protected: bool


@dataclass(frozen=True, slots=True)
class View:
    """A list as it stands, and what there is to know of it.

    Args:
        messages: The messages, stand-ins of earlier policies included.
        origins: For each message, the positions in the caller's list that it is or stands for.
        facts: What is known of each message.
        costs: What each message costs, in tokens.
        units: What stays or leaves together, in order.
        overhead: Tokens that are there besides the messages.
        budget: Tokens that everything together may have.
        watermark: The share of the budget from which on it is worth while to summarise.
        dialect: How the messages are written.
        tools: How their tool calls and results are read and replaced.
        cost_of: What a message would cost.
        store: Where large texts can be put; None if there is no such place.
    """

    messages: Sequence[Message]
    origins: Sequence[tuple[int, ...]]
    facts: Sequence[Facts]
    costs: Sequence[int]
    units: Sequence[UnitView]
    overhead: int
    budget: int
    watermark: float
    dialect: Dialect
    tools: Tools
    cost_of: Callable[[Message], int]
    store: OffloadStore | None

    @property
    def total(self) -> int:
        """What everything costs."""
        return self.overhead + sum(self.costs)

    @property
    def room(self) -> int:
        """Tokens that the messages may have."""
        return self.budget - self.overhead

    def unprotected(self) -> list[int]:
        """Return the positions, in `units`, of the units that may leave or change."""
        return [at for at, unit in enumerate(self.units) if not unit.protected]


@dataclass(frozen=True, slots=True)
class Leave:
    """A unit leaves.

    Args:
        unit: Its position in `View.units`.
        reason: Why, in words.
    """

    unit: int
    reason: str


@dataclass(frozen=True, slots=True)
class Swap:
    """A message leaves, and another one of the same shape stands for it.

    Args:
        at: The message's position in `View.messages`.
        message: What stands for it; it makes the same calls and answers the same ones.
        kind: What stands there.
        reason: Why, in words.
        handle: Where the original can be read.
    """

    at: int
    message: Message
    kind: StandInKind
    reason: str
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Units leave, and one message stands for them, where the first of them was.

    Args:
        units: Their positions in `View.units`, ascending.
        message: What stands for them.
        reason: Why, in words.
    """

    units: tuple[int, ...]
    message: Message
    reason: str


Edit: TypeAlias = Leave | Swap | Fold


@dataclass(frozen=True, slots=True)
class Note:
    """What `FitResult.notes` should say; nothing changes.

    Args:
        why: What happened, in words.
    """

    why: str


class Policy(Protocol):
    """Decides what leaves; the same view gives the same edits."""

    def plan(self, view: View, /) -> Iterable[Edit | Note]:
        """Return what should change, each unit or message at most once; nothing to do is no edit.

        Edits of protected units are passed over. What leaves to reach the budget is the policy's
        choice; where its edits do not suffice, the oldest units follow.
        """
        ...
