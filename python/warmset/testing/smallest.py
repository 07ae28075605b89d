"""Shrinks a failing case to the smallest list that still breaks the same invariant."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Protocol

from warmset.messages import validate
from warmset.testing.histories import History
from warmset.testing.oracle import together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.testing.trial import Finding


@dataclass(frozen=True, slots=True)
class Case:
    """A list and a budget with which an invariant is broken, and the finding."""

    history: History
    budget: int
    finding: Finding


class Tried(Protocol):
    """The interface of an evictor on trial that shrinking needs."""

    def budgets(self, history: History, rng: Random, /) -> list[int]:
        """Return budgets that are worth a try."""
        ...

    def broken(self, history: History, budget: int, /) -> list[Finding]:
        """Return the invariants that do not hold."""
        ...


def smallest(trial: Tried, case: Case) -> Case:
    """Remove units and lower the budget while the same invariant stays broken.

    Args:
        trial: The evictor.
        case: The case in which it was broken.

    Returns:
        The smallest case that was found; its list is valid if that of the case is.
    """
    best, found = case, _smaller(trial, case)
    while found is not None:
        best, found = found, _smaller(trial, found)
    return best


def _smaller(trial: Tried, case: Case) -> Case | None:
    for fewer in _fewer(case.history):
        for budget in (case.budget, *trial.budgets(fewer, Random(0))):  # noqa: S311 - no secret
            found = trial.broken(fewer, budget)
            same = (one for one in found if one.invariant == case.finding.invariant)
            if finding := next(same, None):
                return Case(fewer, budget, finding)
    return None


def _fewer(history: History) -> Iterator[History]:
    """Yield shorter lists: without half of the units, without a quarter, ..., without a message."""
    parted = together(history.messages, history.dialect)
    sizes = [len(parted) >> by for by in range(1, len(parted).bit_length())]
    rows = (
        {at for unit in parted[start : start + size] for at in unit}
        for size in sizes
        for start in range(0, len(parted) - size + 1, max(size // 2, 1))
    )
    rules = _refused(history)
    for leaving in [*rows, *({at} for at in range(len(history.messages)))]:
        rest = [one for at, one in enumerate(history.messages) if at not in leaving]
        fewer = History(rest, history.dialect, ())
        if rest and _refused(fewer) <= rules:
            yield fewer


def _refused(history: History) -> set[str]:
    """Return the rules that a list breaks."""
    return {one.rule for one in validate(history.messages, dialect=history.dialect)}
