"""An evictor on trial: one case, and every invariant that does not hold of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.errors import BudgetTooSmall, InvalidInputError, InvalidMessageError
from warmset.messages import accept
from warmset.testing.answers import places_of, read_answer
from warmset.testing.invariants import Given, Outcome, needed

if TYPE_CHECKING:
    from random import Random

    from warmset.testing.histories import History
    from warmset.testing.invariants import Invariant
    from warmset.tokens import Counter

Evictor: TypeAlias = Callable[[list[Any], int], Any]
"""Takes messages and a budget in tokens; returns messages, or an object that has `messages` (and
`inserted`, if messages were inserted), or raises `BudgetTooSmall`."""

_ITS_OWN = "given its own result, it"

_PER_GAP = 40
"""Tokens that are allowed for filler messages when a `BudgetTooSmall` is checked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant that does not hold of a case.

    Args:
        invariant: Its name.
        why: What was wrong.
        error: What the evictor raised.
    """

    invariant: str
    why: str
    error: Exception | None = None


class _Unusable(Exception):  # noqa: N818 - a finding on its way up
    """A run that gave no list of messages: the evictor raised, or returned something else."""

    def __init__(self, invariant: str, why: str, error: Exception | None = None) -> None:
        super().__init__(why)
        self.finding = Finding(invariant, why, error)


@dataclass(frozen=True, slots=True)
class _Run:
    """What an evictor made of a list, each message with its origin; see `Outcome`."""

    made: list[Any]
    places: list[int | None]
    covered: frozenset[int]


@dataclass(frozen=True, slots=True)
class Trial:
    """An evictor on trial.

    Args:
        evictor: The function.
        counter: Counts its results.
        invariants: The invariants to check.
        refusals: Whether to check that each `BudgetTooSmall` was justified.
    """

    evictor: Evictor
    counter: Counter
    invariants: tuple[Invariant, ...]
    refusals: bool

    def budgets(self, history: History, rng: Random) -> list[int]:
        """Choose budgets: too small, tight, in between, and enough."""
        total = int(self.counter.count(history.messages))
        least = int(self.counter.count([])) + 1  # an empty list costs something
        return sorted(
            {max(total * share // 100, least) for share in (5, rng.randrange(10, 100), 100)}
        )

    def broken(self, history: History, budget: int) -> list[Finding]:
        """Return the invariants that do not hold."""
        given = copy.deepcopy(history.messages)
        try:
            run = self._run(given, budget)
        except BudgetTooSmall as error:
            return self._after_refusal(given, history, budget, error)
        except _Unusable as fault:
            return [fault.finding]
        outcome = Outcome(
            given=Given(history.messages, history.dialect),
            made=run.made,
            places=run.places,
            covered=run.covered,
            budget=budget,
            tokens=int(self.counter.count(run.made)),
            tokens_given=int(self.counter.count(history.messages)),
            overhead=self.counter.overhead(),
            bare=frozenset(
                at
                for message, at in zip(run.made, run.places, strict=True)
                if at is not None and at >= 0 and message != history.messages[at]
            ),
        )
        found = [
            Finding(invariant.__name__, complaint)
            for invariant in self.invariants
            if (complaint := invariant(outcome))
        ]
        if given != history.messages:
            found.append(Finding("changes_nothing_given", "a message that was given was changed"))
        return found + self._several(history, budget, run.made)

    def _several(self, history: History, budget: int, made: list[Any]) -> list[Finding]:
        """Check the invariants that need several runs."""
        try:
            again = self._run(copy.deepcopy(history.messages), budget, "in a second run, it")
            if again.made != made:
                return [Finding("is_deterministic", "a second run gave another list")]
            # An empty list has nothing that could leave, and not every trimmer takes one.
            if made and self._run(copy.deepcopy(made), budget, _ITS_OWN).made != made:
                return [Finding("is_idempotent", "its own result was changed again")]
        except BudgetTooSmall as error:
            return [Finding("is_idempotent", f"its own result was refused: {error}")]
        except _Unusable as fault:
            return [fault.finding]
        return []

    def _after_refusal(
        self, given: list[Any], history: History, budget: int, error: BudgetTooSmall
    ) -> list[Finding]:
        """Check that a `BudgetTooSmall` was justified.

        What must stay may need a few tokens more than its messages, for filler messages in gaps.
        """
        found: list[Finding] = []
        if given != history.messages:
            found.append(Finding("changes_nothing_given", "a message that was given was changed"))
        if int(self.counter.count(history.messages)) <= budget:
            found.append(Finding("leaves_what_fits_alone", "a list that fits was refused"))
        must = sorted(needed(Given(history.messages, history.dialect)))
        least = int(self.counter.count([history.messages[at] for at in must]))
        if not self.refusals:
            return found
        if must and least + _PER_GAP * (len(must) + 1) <= budget:
            why = f"what must stay costs {least} of {budget} tokens and was refused"
            found.append(Finding("refuses_only_what_cannot_fit", why))
        if not error.need > error.have:
            why = f"it needs {error.need} and has {error.have}"
            found.append(Finding("refuses_only_what_cannot_fit", why))
        return found

    def made_of(self, messages: list[Any], budget: int) -> list[Any]:
        """Return the evictor's output for a list; empty if it refuses or raises."""
        try:
            return self._run(copy.deepcopy(messages), budget).made
        except (BudgetTooSmall, _Unusable):
            return []

    def _run(self, given: list[Any], budget: int, when: str = "it") -> _Run:
        """Run the evictor.

        Raises:
            BudgetTooSmall: It refused the list.
            _Unusable: It raised something else, or did not return messages.
        """
        before = list(given)  # an evictor may change the list itself
        try:
            answer = self.evictor(given, budget)
            if isinstance(answer, Iterator):
                answer = list(answer)
        except BudgetTooSmall:
            raise
        except Exception as error:
            why = f"{when} raised {type(error).__name__}: {error}"
            raise _Unusable("raises_only_budget_too_small", why, error) from error
        try:
            read = read_answer(answer)
            accept(read.messages)
        except (InvalidInputError, InvalidMessageError) as error:
            raise _Unusable("returns_messages", str(error)) from error
        places = places_of(before, read.messages, read.inserted)
        return _Run(read.messages, places, read.covered)
