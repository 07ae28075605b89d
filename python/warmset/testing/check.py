"""`check_evictor`: checks a function that shortens lists against invariants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from warmset.errors import BudgetTooSmall, InvalidInputError
from warmset.messages import known_dialect
from warmset.testing.answers import messages_of
from warmset.testing.failures import EvictorError, Failure
from warmset.testing.histories import random_history
from warmset.testing.invariants import INVARIANTS
from warmset.testing.smallest import Case, smallest
from warmset.testing.trial import Trial
from warmset.tokens import counter as make_counter

if TYPE_CHECKING:
    from warmset.testing.invariants import Invariant
    from warmset.testing.trial import Evictor
    from warmset.tokens import Counter, CountFunction


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
    leaves its own result unchanged, returns messages, and raises nothing but `BudgetTooSmall`; see
    `with_refusals` for one that raises something else, or returns an empty list, if there is no
    room. An error of the function is a failure with its smallest case.

    Args:
        evictor: The function; see `Evictor`.
        dialect: The dialect of the conversations.
        examples: The number of conversations.
        seed: The seed of the first conversation; the others follow.
        counter: Counts the tokens, as in `fit`. Most counters add some tokens for every list; a
            function that trims by the sum of its messages needs one that adds none.
        orphans: Whether lists that providers reject are tried as well.
        invariants: The invariants to check; `INVARIANTS_WITHOUT_TASK` for a function that does not
            promise to keep the first request.
        refusals: Whether to check that each `BudgetTooSmall` was justified.

    Raises:
        EvictorError: An invariant was broken; it has the smallest case for each.
        UnknownDialectError: The name is of no supported dialect.
        CountError: The counter failed.
    """
    trial = Trial(evictor, make_counter(counter), tuple(invariants), refusals)
    found: dict[str, Failure] = {}
    for number in range(seed, seed + examples):
        history = random_history(number, known_dialect(dialect), orphans=orphans)
        for budget in trial.budgets(history, Random(number)):  # noqa: S311 - not for secrets
            for one in trial.broken(history, budget):
                name = one.invariant
                if name not in found or len(history.messages) < len(found[name].messages):
                    small = smallest(trial, Case(history, budget, one))
                    messages, why = small.history.messages, small.finding.why
                    made = trial.made_of(messages, small.budget)
                    error = small.finding.error
                    found[name] = Failure(name, why, messages, small.budget, made, number, error)
    if found:
        raise EvictorError(list(found.values()))


def with_refusals(evictor: Evictor, *, errors: Sequence[type[Exception]] = ()) -> Evictor:
    """Return an evictor that raises `BudgetTooSmall` where a given one has another sign for it.

    Args:
        evictor: A function that shortens lists; an empty list that it returns is a refusal, unless
            it was given one.
        errors: The types of exceptions by which it refuses a list.

    Returns:
        A function for `check_evictor`.

    Raises:
        InvalidInputError: `errors` are no types of exceptions.
    """
    known = isinstance(errors, Sequence) and all(
        isinstance(one, type) and issubclass(one, Exception) for one in errors
    )
    if not known:
        raise InvalidInputError(f"errors: expected types of exceptions, found {errors!r:.80}")

    def adapted(messages: list[Any], budget: int) -> Any:
        empty = not messages
        try:
            answer = evictor(messages, budget)
            if isinstance(answer, Iterator):
                answer = list(answer)
        except BudgetTooSmall:
            raise
        except tuple(errors) as error:
            raise BudgetTooSmall(budget + 1, budget) from error
        if not empty and not messages_of(answer):
            raise BudgetTooSmall(budget + 1, budget)
        return answer

    return adapted
