"""Policies that evict whole units: by position, by age, by score; and chains of policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from warmset._core import keep_newest, leave_lowest
from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.evict.slots import fills_gap
from warmset.evict.view import Leave

if TYPE_CHECKING:
    from warmset.evict.view import Edit, Policy, View
    from warmset.messages import Message

Score: TypeAlias = "Sequence[float] | Mapping[int, float] | Callable[[Message], float]"
"""The scores of messages: one number each, some by position, or a function of a message."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Keeps protected units, and fills the rest of the budget from the newest unit backwards.

    It stops at the first unit that does not fit, so that the units that stay are contiguous.
    """

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to evict the oldest units until the rest fits; see `Policy`."""
        if view.total <= view.budget:
            return []
        costs = [unit.cost for unit in view.units]
        protected = [unit.protected for unit in view.units]
        try:
            kept = set(keep_newest(costs, protected, max(view.room, 0)).tolist())
        except BudgetTooSmall:
            kept = set()
        return [
            Leave(at, "older than what fits the budget")
            for at in view.unprotected()
            if at not in kept
        ]


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keeps the last units, once a list exceeds the budget or at every call.

    Args:
        k: The number of units at the end that stay; system messages are not counted, nor are filler
            messages.
        always: Whether it also acts on a list that fits the budget.

    Raises:
        InvalidInputError: `k` is not a positive integer, or `always` is no boolean.
    """

    k: int
    always: bool = False

    def __post_init__(self) -> None:
        at_least("k", self.k, 1)
        yes_or_no("always", self.always)

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to evict everything before the last units; see `Policy`."""
        return _ends(view, head=0, tail=self.k) if is_due(view, always=self.always) else []


@dataclass(frozen=True, slots=True)
class HeadTail:
    """Keeps the first and the last units, once a list exceeds the budget or at every call.

    Args:
        k: The number of units at the end that stay.
        head: The number of units at the beginning that stay; system messages are not counted, nor
            are filler messages.
        always: Whether it also acts on a list that fits the budget.

    Raises:
        InvalidInputError: `k` or `head` is not a positive integer, or `always` is no boolean.
    """

    k: int
    head: int = 1
    always: bool = False

    def __post_init__(self) -> None:
        at_least("k", self.k, 1)
        at_least("head", self.head, 1)
        yes_or_no("always", self.always)

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to evict the middle; see `Policy`."""
        return _ends(view, head=self.head, tail=self.k) if is_due(view, always=self.always) else []


def _ends(view: View, *, head: int, tail: int) -> list[Edit]:
    """Plan to evict what is between the ends, and filler messages with it: they are made anew."""
    fillers = {
        at
        for at, unit in enumerate(view.units)
        if all(fills_gap(view.facts[member]) for member in unit.members)
    }
    spoken = [
        at for at, unit in enumerate(view.units) if unit.kind != "system" and at not in fillers
    ]
    middle = spoken[head : max(len(spoken) - tail, head)]
    if all(view.units[at].protected for at in middle):
        return []
    first = spoken[head - 1] if head else -1
    between = range(first + 1, spoken[len(spoken) - tail])
    reason = f"not among the last {tail} units"
    if head:
        reason = f"neither among the first {head} units nor the last {tail}"
    return [Leave(at, reason) for at in between if not view.units[at].protected]


@dataclass(frozen=True, slots=True)
class Salience:
    """Evicts the unit with the lowest score first, and of equal ones the oldest.

    Args:
        score: The scores of messages: a number for each, some by position (the others score 0), or
            a function of a message. A unit has the best score of its messages.
    """

    score: Score

    def __post_init__(self) -> None:
        known = callable(self.score) or isinstance(self.score, (Mapping, Sequence))
        if not known or isinstance(self.score, (str, bytes)):
            raise InvalidInputError(
                f"score: expected numbers or a function, found {self.score!r:.80}"
            )

    def plan(self, view: View, /) -> list[Edit]:
        """Plan to evict the lowest scores until the rest fits; see `Policy`.

        Raises:
            InvalidInputError: A score is missing, or is not a number.
        """
        if view.total <= view.budget:
            return []
        scores = [max(self._worth(view, at) for at in unit.members) for unit in view.units]
        costs = [unit.cost for unit in view.units]
        protected = [unit.protected for unit in view.units]
        try:
            leaving = leave_lowest(costs, protected, scores, max(view.room, 0)).tolist()
        except BudgetTooSmall:
            leaving = view.unprotected()
        return [Leave(at, f"its score of {scores[at]:g} is among the lowest") for at in leaving]

    def _worth(self, view: View, at: int) -> float:
        if callable(self.score):
            found = [self.score(view.messages[at])]
        elif isinstance(self.score, Mapping):
            found = [self.score.get(one, 0.0) for one in view.origins[at]]
        else:
            try:
                found = [self.score[one] for one in view.origins[at]]
            except IndexError as error:
                raise InvalidInputError(
                    f"score: expected one number a message, found {len(self.score)}"
                ) from error
        try:
            return max(float(one) for one in found)
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidInputError(f"score: expected numbers, found {found!r:.80}") from error


class Chain:
    """A chain of policies, applied in order until the budget is reached.

    Each gets the list that the ones before it left. Once the budget is reached, the remaining ones
    do nothing, unless their own trigger is below the budget.

    Args:
        policies: The policies, the gentlest first.

    Raises:
        InvalidInputError: There is no policy, or an object is not a policy.
    """

    def __init__(self, *policies: Policy | Chain) -> None:
        flat: list[Policy] = []
        for policy in policies:
            flat += steps(policy)
        if not flat:
            raise InvalidInputError("Chain: give it at least one policy")
        self.policies = tuple(flat)

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(repr, self.policies))})"


def steps(policy: Policy | Chain) -> tuple[Policy, ...]:
    """Return the policies of a chain; any other policy is returned alone.

    Raises:
        InvalidInputError: It is not a policy.
    """
    if isinstance(policy, Chain):
        return policy.policies
    if isinstance(policy, type) or not callable(getattr(policy, "plan", None)):
        raise InvalidInputError(f"policy: expected an object with plan(view), found {policy!r}")
    return (policy,)


def is_due(view: View, *, always: bool) -> bool:
    """Return whether a policy must act: always, or because the list exceeds the budget."""
    return always or view.total > view.budget


def yes_or_no(name: str, value: object) -> None:
    """Raise `InvalidInputError` unless the value is a boolean."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name}: expected True or False, found {value!r}")


def at_least(name: str, value: object, least: int) -> None:
    """Raise `InvalidInputError` unless the value is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(
            f"{name}: expected an integer of at least {least}, found {value!r:.80}"
        )
