"""A case: what is measured, who takes part, and what a right result is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.errors import WarmsetError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

OURS: Final = "warmset"

Call: TypeAlias = Callable[[int], object]
"""One call of a contestant; it gets its number, from 0."""

Group: TypeAlias = Literal["index", "store", "trim", "window", "count"]


class WrongResultError(WarmsetError):
    """A contestant's result was wrong, so its time says nothing."""


class ContestantError(WarmsetError):
    """A contestant failed while it was timed."""


class CannotTakePartError(Exception):
    """Why a peer that is installed cannot take part; a reason, not a fault."""


def expect(fine: object, what: str) -> None:
    """Stop where a result is wrong: a fast wrong answer is no answer.

    Raises:
        WrongResultError: It is wrong; says what.
    """
    if not fine:
        raise WrongResultError(f"wrong result: {what}; no figure of this case counts")


@dataclass(slots=True)
class Contest:
    """The contestants of an opened case.

    Args:
        wanted: The contestants that are asked for; None for all that there are.
        calls: What each is timed by, ours first.
        left_out: Peers that do not take part, with the reason.
        check: Called when all were timed; raises `WrongResultError`.
        most: Calls that each may make; None for any number.
        of: The figure of many calls: the mean where rare slow calls are part of the price, as
            checkpoints and syncs are.
        items: What one call does, in units; the figure is by one unit.
        notes: What to know of a contestant, by its name.
    """

    wanted: Collection[str] | None = None
    calls: dict[str, Call] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    check: Callable[[], None] = lambda: None
    most: int | None = None
    of: Literal["median", "mean"] = "median"
    items: int = 1
    notes: dict[str, str] = field(default_factory=dict)

    def ours(self, call: Call) -> None:
        """Let ours take part."""
        if self.wanted is None or OURS in self.wanted:
            self.calls[OURS] = call

    def peer(self, name: str, make: Callable[[], Call]) -> None:
        """Let a peer take part, or take note why it does not.

        Args:
            name: Its name.
            make: Imports the peer and returns its call.

        Raises:
            WrongResultError: It answered wrongly.
        """
        if self.wanted is not None and name not in self.wanted:
            return
        try:
            self.calls[name] = make()
        except WrongResultError:
            raise
        except ImportError as error:
            missing = error.name or str(error)
            self.left_out[name] = f"{missing} is not installed"
        except CannotTakePartError as reason:
            self.left_out[name] = str(reason)
        except Exception as error:  # noqa: BLE001 - somebody else's package may raise anything
            self.left_out[name] = f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is measured.

    Args:
        name: What ``--only`` takes.
        group: The part of warmset.
        what: What one call does, in a line.
        peers: Names of the peers that may take part.
        open: Makes the contestants, in an empty directory, and puts everything away at the end. Of
            the named contestants alone, if names are given.
        quick: Whether ``--quick`` runs it.
    """

    name: str
    group: Group
    what: str
    peers: tuple[str, ...]
    open: Callable[[Path, Collection[str] | None], AbstractContextManager[Contest]]
    quick: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a contestant took.

    Args:
        microseconds: Of one unit: the median or mean, as the contest has it.
        fastest: Of its fastest call.
        p95: The 95th percentile.
        calls: How many were counted.
    """

    microseconds: float
    fastest: float
    p95: float
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a case gave.

    Args:
        name: The case.
        group: Its part of warmset.
        what: What one call does.
        of: Whether the figures are medians or means.
        figures: Of each contestant, ours first.
        left_out: Peers that did not take part, with the reason.
        notes: What to know of a contestant.
    """

    name: str
    group: Group
    what: str
    of: Literal["median", "mean"]
    figures: Mapping[str, Figure]
    left_out: Mapping[str, str]
    notes: Mapping[str, str]

    @property
    def ratios(self) -> dict[str, float]:
        """How many times longer each peer takes than warmset; below 1, the peer is faster."""
        ours = self.figures[OURS].microseconds
        return {name: one.microseconds / ours for name, one in self.figures.items() if name != OURS}
