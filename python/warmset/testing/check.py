"""`check_evictor`: whether a function that shortens lists keeps to what must hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.counting import counter as make_counter
from warmset.errors import BudgetTooSmall
from warmset.messages import known_dialect
from warmset.testing.histories import History, random_history
from warmset.testing.invariants import INVARIANTS, Given, Outcome

if TYPE_CHECKING:
    from warmset.counting import Counter, CountFunction
    from warmset.testing.invariants import Invariant

Evictor: TypeAlias = Callable[[list[Any], int], Any]
"""Takes messages and a budget in tokens; returns messages, or an object that has `messages` (and
`inserted`, if there are stand-ins), or raises `BudgetTooSmall`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One case in which an evictor broke an invariant.

    Args:
        invariant: The invariant's name.
        why: What was wrong.
        messages: The list that it was given; the smallest that was found.
        budget: The budget that it was given.
        made: What it returned.
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
) -> None:
    """Try a function that shortens lists on made-up conversations.

    Each conversation is tried with several budgets, from almost nothing to more than it needs. What
    is checked: `INVARIANTS`, and that the function is deterministic, changes nothing that it was
    given, and has nothing left to do on its own result.

    Args:
        evictor: The function; see `Evictor`.
        dialect: How the conversations are written.
        examples: Conversations to try.
        seed: The first conversation; the others follow.
        counter: The authority on tokens, as `fit` takes it.
        orphans: Whether lists that providers refuse are tried as well.
        invariants: What is checked.

    Raises:
        EvictorError: An invariant was broken; it has the smallest case for each.
        UnknownDialectError: The name is of no supported dialect.
    """
    trial = Trial(evictor, make_counter(counter), tuple(invariants))
    found: dict[str, Failure] = {}
    for number in range(seed, seed + examples):
        history = random_history(number, known_dialect(dialect), orphans=orphans)
        for budget in trial.budgets(history, Random(number)):  # noqa: S311 - not for secrets
            for name, _ in trial.broken(history, budget):
                if name not in found or len(history.messages) < len(found[name].messages):
                    found[name] = _smallest(trial, name, history, budget, number)
    if found:
        raise EvictorError(list(found.values()))


@dataclass(frozen=True, slots=True)
class Trial:
    """An evictor on trial.

    Args:
        evictor: The function.
        counter: What counts its results.
        invariants: What is checked of one outcome.
    """

    evictor: Evictor
    counter: Counter
    invariants: tuple[Invariant, ...]

    def budgets(self, history: History, rng: Random) -> list[int]:
        """Choose budgets: too small, tight, in between, and enough."""
        total = int(self.counter.count(history.messages))
        return sorted({max(total * share // 100, 1) for share in (5, rng.randrange(10, 100), 100)})

    def broken(self, history: History, budget: int) -> list[tuple[str, str]]:
        """Return the names of the invariants that do not hold, each with a complaint."""
        given = copy.deepcopy(history.messages)
        try:
            made, places = self._run(given, budget)
        except BudgetTooSmall:
            return self._after_refusal(given, history, budget)
        outcome = Outcome(
            given=Given(history.messages, history.dialect),
            made=made,
            places=places,
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
        """Check what needs several runs, or the list that was given."""
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
        self, given: list[Any], history: History, budget: int
    ) -> list[tuple[str, str]]:
        """Check that a refusal was called for."""
        found: list[tuple[str, str]] = []
        if given != history.messages:
            found.append(("changes_nothing_given", "a message that was given was changed"))
        if int(self.counter.count(history.messages)) <= budget:
            found.append(("leaves_what_fits_alone", "a list that fits was refused"))
        return found

    def _run(self, given: list[Any], budget: int) -> tuple[list[Any], list[int | None]]:
        answer = self.evictor(given, budget)
        inserted = {one.index for one in getattr(answer, "inserted", ())}
        made = _messages(answer)
        return made, _places(given, made, inserted)


def _messages(answer: Any) -> list[Any]:
    """Return the messages of an evictor's answer, a list or an object that has one."""
    messages: Any = getattr(answer, "messages", answer)
    return list(messages)


def _places(given: list[Any], made: list[Any], inserted: set[int]) -> list[int | None]:
    """Find where each message came from: by identity, else by equality."""
    by_identity = {id(message): at for at, message in enumerate(given)}
    places: list[int | None] = []
    for at, message in enumerate(made):
        found = by_identity.get(id(message))
        if found is None and at not in inserted:
            found = next((place for place, one in enumerate(given) if one == message), None)
        places.append(found)
    return places


def _smallest(trial: Trial, name: str, history: History, budget: int, seed: int) -> Failure:
    """Take messages out, and lower the budget, as long as the same invariant stays broken."""
    best, tokens = history, budget
    shrunk = True
    while shrunk:
        shrunk = False
        for at in range(len(best.messages)):
            fewer = History([*best.messages[:at], *best.messages[at + 1 :]], best.dialect, ())
            worth = [b for b in (tokens, *trial.budgets(fewer, Random(0))) if b > 0]  # noqa: S311
            smaller = next((b for b in worth if _is_broken(trial, name, fewer, b)), None)
            if fewer.messages and smaller is not None:
                best, tokens, shrunk = fewer, smaller, True
                break
    why = next(why for found, why in trial.broken(best, tokens) if found == name)
    made = _messages(trial.evictor(copy.deepcopy(best.messages), tokens))
    return Failure(name, why, best.messages, tokens, made, seed)


def _is_broken(trial: Trial, name: str, history: History, budget: int) -> bool:
    try:
        return any(found == name for found, _ in trial.broken(history, budget))
    except Exception:  # noqa: BLE001 - a list that the evictor cannot read is no smaller case
        return False
