"""`check_log`: judges an implementation of a log by named rules and by random histories."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, TypeVar

from warmset.testing.log_end_rules import END_RULES
from warmset.testing.log_histories import check_steps, random_steps, shortened
from warmset.testing.log_list_rules import LIST_RULES
from warmset.testing.log_rules import RULES
from warmset.testing.log_scan_rules import SCAN_RULES
from warmset.testing.log_shared_rules import (
    SHARED_RULES,
    THREAD_RULES,
    processes_put_each_key_once,
)
from warmset.testing.log_stage import Broken, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.testing.log_like import LogLike

L = TypeVar("L", bound="LogLike")

LENGTH = 25
"""Calls of a random history."""

AS_THE_MODEL = "random_histories_are_answered_as_the_model_does"


@dataclass(frozen=True, slots=True)
class LogFailure:
    """A rule that a log broke.

    Args:
        rule: The rule's name.
        why: What was expected, and what was found.
        history: The calls that show it; of a random history the shortest that was found.
        error: What the log raised, if it raised.
    """

    rule: str
    why: str
    history: tuple[str, ...]
    error: Exception | None = field(default=None, compare=False)

    def __str__(self) -> str:
        calls = [f"  {at}. {line}" for at, line in enumerate(self.history, 1)]
        return "\n".join([f"{self.rule}: {self.why}", *calls])


class LogError(AssertionError):
    """A log broke rules.

    Args:
        failures: One failure for each rule that was broken.
    """

    def __init__(self, failures: Sequence[LogFailure]) -> None:
        super().__init__("\n\n".join(map(str, failures)))
        self.failures = tuple(failures)


def check_log(
    make: Callable[[], L],
    *,
    again: Callable[[L], LogLike] | None = None,
    processes: bool = False,
    examples: int = 100,
    seed: int = 0,
) -> None:
    """Judge an implementation of a log: does it do what `warmset.native.Log` does?

    Checked are rules about cells, lists, batches, removals, expiry, erasing, scans and threads, one
    by one, and random histories of calls, each compared with `MemoryLog` after every call. Whoever
    makes a log keeps it from being closed as long as it is used, and closes it.

    Args:
        make: Returns a fresh, empty log; it is called some hundred times.
        again: Returns another handle on the storage of a log; None if there can be only one. With
            it, rules of two handles are checked, and histories are shared out among two.
        processes: Whether a log can be pickled and used in two other processes; then they are.
        examples: The number of random histories.
        seed: The seed of the first one; the others follow.

    Raises:
        LogError: Rules were broken; it has a readable account of each.
    """
    stage = Stage(make, again)
    rules = [
        *RULES,
        *LIST_RULES,
        *END_RULES,
        *SCAN_RULES,
        *(SHARED_RULES if again else THREAD_RULES),
    ]
    if processes:
        rules.append(processes_put_each_key_once)
    failures = [found for rule in rules if (found := _judged(stage, rule)) is not None]
    for number in range(seed, seed + examples):
        found = _random(stage, number)
        if found is not None:
            failures.append(found)
            break
    if failures:
        raise LogError(failures)


def _judged(stage: Stage, rule: Callable[[Stage], None]) -> LogFailure | None:
    """Return what is wrong by a rule, if anything is."""
    name = rule.__name__
    try:
        rule(stage)
    except Broken as broken:
        return LogFailure(name, broken.why, tuple(stage.history))
    except Exception as error:  # noqa: BLE001 - whatever a log raises is its failure
        why = f"{type(error).__name__} was raised: {error}"
        return LogFailure(name, why, tuple(stage.history), error)
    return None


def _random(stage: Stage, number: int) -> LogFailure | None:
    """Return what is wrong in a random history, if anything is."""
    steps = random_steps(Random(number), LENGTH)  # noqa: S311 - not for secrets
    error = None
    try:
        check_steps(stage, steps)
    except Broken as broken:
        steps, broken = shortened(stage, steps, broken)
        why = broken.why
        try:  # once more, for its calls
            check_steps(stage, steps)
        except Broken as broken_again:
            why = broken_again.why
    except Exception as raised:  # noqa: BLE001 - whatever a log raises is its failure
        error, why = raised, f"{type(raised).__name__} was raised: {raised}"
    else:
        return None
    return LogFailure(f"{AS_THE_MODEL} (seed {number})", why, tuple(stage.history), error)
