"""`check_evictor`: checks a function that shortens lists against invariants."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.errors import BudgetTooSmall
from warmset.messages import known_dialect
from warmset.testing.answers import messages_of, places_of
from warmset.testing.histories import History, random_history
from warmset.testing.invariants import INVARIANTS, Given, Outcome, needed
from warmset.testing.smallest import Case, smallest
from warmset.tokens import counter as make_counter

if TYPE_CHECKING:
    from warmset.testing.invariants import Invariant
    from warmset.tokens import Counter, CountFunction

Evictor: TypeAlias = Callable[[list[Any], int], Any]
"""Takes messages and a budget in tokens; returns messages, or an object that has `messages` (and
`inserted`, if messages were inserted), or raises `BudgetTooSmall`."""


_PER_GAP = 40
"""Tokens that are allowed for filler messages when a `BudgetTooSmall` is checked."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case in which an evictor broke an invariant.

    Args:
        invariant: The invariant's name.
        why: What was wrong.
        messages: The input list; the smallest that was found.
        budget: The budget.
        made: The result.
        seed: The seed of the case from which this one was found.
    """

    invariant: str
    why: str
    messages: list[Any]
    budget: int
    made: list[Any]
    seed: int

    def __str__(self) -> str:
        lines = [f"{self.invariant}: {self.why} (seed {self.seed}, budget {self.budget})"]
        lines += [f"  given {at}: {message!r:.160}" for at, message in enumerate(self.messages)]
        lines += [f"  made  {at}: {message!r:.160}" for at, message in enumerate(self.made)]
        return "\n".join(lines)


class EvictorError(AssertionError):
    """An evictor broke an invariant.

    Args:
        failures: One failure for each invariant that was broken, the smallest that was found.
    """

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__("\n\n".join(map(str, failures)))
        self.failures = tuple(failures)


def check_evictor(
    evictor: Evictor,
    dialect: str,
    *,
    examples: int = 500,
    seed: int = 0,
    counter: str | CountFunction | Counter | None = None,
    orphans: bool = False,
    invariants: Sequence[Invariant] = INVARIANTS,
    refusals: bool = True,
) -> None:
    """Test a function that shortens lists on generated conversations.

    Each conversation is tried with several budgets, from almost nothing to more than it needs.
    Checked are `INVARIANTS`, and that the function is deterministic, does not change its arguments,
    and leaves its own result unchanged.

    Args:
        evictor: The function; see `Evictor`.
        dialect: The dialect of the conversations.
        examples: The number of conversations.
        seed: The seed of the first conversation; the others follow.
        counter: Counts the tokens, as in `fit`.
        orphans: Whether lists that providers reject are tried as well.
        invariants: The invariants to check.
        refusals: Whether to check that each `BudgetTooSmall` was justified.

    Raises:
        EvictorError: An invariant was broken; it has the smallest case for each.
        UnknownDialectError: The name is of no supported dialect.
    """
    trial = Trial(evictor, make_counter(counter), tuple(invariants), refusals)
    found: dict[str, Failure] = {}
    for number in range(seed, seed + examples):
        history = random_history(number, known_dialect(dialect), orphans=orphans)
        for budget in trial.budgets(history, Random(number)):  # noqa: S311 - not for secrets
            for name, why in trial.broken(history, budget):
                if name not in found or len(history.messages) < len(found[name].messages):
                    small = smallest(trial, name, Case(history, budget, why))
                    messages = small.history.messages
                    made = trial.made_of(messages, small.budget)
                    found[name] = Failure(name, small.why, messages, small.budget, made, number)
    if found:
        raise EvictorError(list(found.values()))


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

    def broken(self, history: History, budget: int) -> list[tuple[str, str]]:
        """Return the names of the invariants that do not hold, each with a complaint."""
        given = copy.deepcopy(history.messages)
        try:
            made, places, covered = self._run(given, budget)
        except BudgetTooSmall as error:
            return self._after_refusal(given, history, budget, error)
        outcome = Outcome(
            given=Given(history.messages, history.dialect),
            made=made,
            places=places,
            covered=covered,
            budget=budget,
            tokens=int(self.counter.count(made)),
            tokens_given=int(self.counter.count(history.messages)),
        )
        found = [
            (invariant.__name__, complaint)
            for invariant in self.invariants
            if (complaint := invariant(outcome))
        ]
        return found + self._several(given, history, budget, made)

    def _several(
        self, given: list[Any], history: History, budget: int, made: list[Any]
    ) -> list[tuple[str, str]]:
        """Check the invariants that need several runs, or the input list."""
        found: list[tuple[str, str]] = []
        if given != history.messages:
            found.append(("changes_nothing_given", "a message that was given was changed"))
        try:
            if self._run(copy.deepcopy(history.messages), budget)[0] != made:
                found.append(("is_deterministic", "a second run gave another list"))
            if self._run(copy.deepcopy(made), budget)[0] != made:
                found.append(("is_idempotent", "its own result was changed again"))
        except BudgetTooSmall as error:
            found.append(("is_idempotent", f"its own result was refused: {error}"))
        return found

    def _after_refusal(
        self, given: list[Any], history: History, budget: int, error: BudgetTooSmall
    ) -> list[tuple[str, str]]:
        """Check that a `BudgetTooSmall` was justified.

        What must stay may need a few tokens more than its messages, for filler messages in gaps.
        """
        found: list[tuple[str, str]] = []
        if given != history.messages:
            found.append(("changes_nothing_given", "a message that was given was changed"))
        if int(self.counter.count(history.messages)) <= budget:
            found.append(("leaves_what_fits_alone", "a list that fits was refused"))
        must = sorted(needed(Given(history.messages, history.dialect)))
        least = int(self.counter.count([history.messages[at] for at in must]))
        if not self.refusals:
            return found
        if must and least + _PER_GAP * (len(must) + 1) <= budget:
            why = f"what must stay costs {least} of {budget} tokens and was refused"
            found.append(("refuses_only_what_cannot_fit", why))
        if not error.need > error.have:
            why = f"it needs {error.need} and has {error.have}"
            found.append(("refuses_only_what_cannot_fit", why))
        return found

    def made_of(self, messages: list[Any], budget: int) -> list[Any]:
        """Return the evictor's output for a list; empty if it raises `BudgetTooSmall`."""
        try:
            return self._run(copy.deepcopy(messages), budget)[0]
        except BudgetTooSmall:
            return []

    def _run(
        self, given: list[Any], budget: int
    ) -> tuple[list[Any], list[int | None], frozenset[int]]:
        before = list(given)  # an evictor may change the list itself
        answer = self.evictor(given, budget)
        stand_ins: list[Any] = list(getattr(answer, "inserted", ()))
        inserted = {one.index for one in stand_ins}
        made = messages_of(answer)
        covered = frozenset(at for one in stand_ins if one.kind != "gap" for at in one.stands_for)
        return made, places_of(before, made, inserted), covered
