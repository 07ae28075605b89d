"""The interface of policies: read-only views of a list, and the edits that they may return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.evict.blob_store import OffloadStore
    from warmset.messages import Dialect, Facts, Message, Tools, UnitKind

StandInKind: TypeAlias = Literal["placeholder", "handle", "summary", "collapsed", "gap"]
"""The kinds of messages that replace others."""


@dataclass(frozen=True, slots=True)
class UnitView:
    """A unit of the list.

    Args:
        members: Positions of its messages in `View.messages`, ascending.
        kind: The role of its messages; "tool" for calls with their results.
        cost: Its tokens.
        protected: Whether it must stay unchanged.
    """

    members: tuple[int, ...]
    kind: UnitKind
    cost: int
    protected: bool


@dataclass(frozen=True, slots=True)
class View:
    """The current list, and everything that a policy may know about it.

    Args:
        messages: The messages, replacements by earlier policies included.
        origins: For each message, its position in the caller's list, or those of the messages that
            it replaces.
        facts: The facts of each message.
        costs: The tokens of each message.
        units: The units, in order; each stays or leaves as a whole.
        overhead: Tokens besides the messages.
        budget: The most tokens that everything together may have.
        watermark: The share of the budget at which summarising should start.
        dialect: The dialect of the messages.
        tools: Reads and replaces tool calls and results.
        cost_of: Returns the tokens of a message.
        store: The store for large texts; None if there is none.
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
        """All tokens of the list."""
        return self.overhead + sum(self.costs)

    @property
    def room(self) -> int:
        """The most tokens that the messages may have."""
        return self.budget - self.overhead

    def unprotected(self) -> list[int]:
        """Return the positions, in `units`, of the units that may leave or change."""
        return [at for at, unit in enumerate(self.units) if not unit.protected]


@dataclass(frozen=True, slots=True)
class Leave:
    """An edit that evicts a unit.

    Args:
        unit: Its position in `View.units`.
        reason: Why, in words.
    """

    unit: int
    reason: str


@dataclass(frozen=True, slots=True)
class Swap:
    """An edit that replaces a message with another one with the same calls and results.

    Args:
        at: The message's position in `View.messages`.
        message: The replacement; it makes the same calls and answers the same ones.
        kind: The kind of the replacement.
        reason: Why, in words.
        handle: The handle of the original.
    """

    at: int
    message: Message
    kind: StandInKind
    reason: str
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """An edit that replaces units with one message, in the place of the first of them.

    Args:
        units: Their positions in `View.units`, ascending.
        message: The replacement.
        reason: Why, in words.
        kind: The kind of the replacement.
        handles: The handle of each unit's original, None for one without; if this is empty, `fit`
            stores the originals where it has a store.
    """

    units: tuple[int, ...]
    message: Message
    reason: str
    kind: StandInKind = "summary"
    handles: tuple[str | None, ...] = ()


Edit: TypeAlias = Leave | Swap | Fold


@dataclass(frozen=True, slots=True)
class Note:
    """A remark for `FitResult.notes`; it changes nothing.

    Args:
        why: What happened, in words.
    """

    why: str


class Policy(Protocol):
    """Decides what is evicted; equal views give equal edits."""

    def plan(self, view: View, /) -> Iterable[Edit | Note]:
        """Return the edits to apply, at most one for each unit or message.

        Edits of protected units are ignored. If the edits do not reach the budget, the oldest units
        are evicted next.
        """
        ...
