"""How calls are timed: in turns, so that what else the machine does hits all contestants alike."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Final

from warmset.errors import WarmsetError
from warmset.lab.bench.case import ContestantError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from warmset.lab.bench.case import Call

LONG: Final = 20_000.0
"""Microseconds; calls that take longer come one at a time."""

CAP: Final = 16
"""Calls in one turn at most."""

ROUNDS: Final = (3, 60)
"""Turns of each contestant: at least, and at most."""


def turns(
    calls: Mapping[str, Call],
    seconds: float,
    *,
    most: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, list[float]]:
    """Time calls of contestants that take turns; who goes first changes from round to round.

    A turn is a few calls, and one before them that is not counted, since it pays for what the
    contestant before left in the caches. Calls that take long come one at a time, and all count.

    Args:
        calls: What to call, ours first; each call gets its number, from 0.
        seconds: About how long it may take; there are never fewer than three rounds, or as many as
            `most` allows.
        most: Calls that a contestant may make, those that are not counted included.
        progress: Told the rounds that are done, and all.

    Returns:
        Microseconds of each counted call, by contestant.

    Raises:
        ContestantError: A peer failed; what warmset raises is raised as it is.
    """
    numbers = {one: count() for one in calls}
    once = {one: timed(one, call, next(numbers[one])) for one, call in calls.items()}
    turn = {one: min(CAP, max(1, int(LONG / micros))) for one, micros in once.items()}
    if most is not None:
        turn = dict.fromkeys(turn, 1)
    spare = {one: int(many > 1) for one, many in turn.items()}
    a_round = sum((turn[one] + spare[one]) * micros for one, micros in once.items())
    least, limit = ROUNDS
    if most is not None:
        limit = min(limit, most - 1)
    rounds = min(limit, max(least, int(seconds * 1e6 / a_round)))
    times: dict[str, list[float]] = {one: [] for one in calls}
    order = list(calls)
    for done in range(rounds):
        progress(done, rounds)
        for one in order:
            for place in range(spare[one] + turn[one]):
                micros = timed(one, calls[one], next(numbers[one]))
                if place >= spare[one]:
                    times[one].append(micros)
        order.append(order.pop(0))
    progress(rounds, rounds)
    return times


def timed(name: str, call: Call, number: int) -> float:
    """Return the microseconds of one call.

    Raises:
        ContestantError: It failed.
    """
    begin = time.perf_counter_ns()
    try:
        call(number)
    except WarmsetError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ContestantError(
            f"{name} failed while it was timed: {why}; name other cases with --only"
        ) from error
    return max(time.perf_counter_ns() - begin, 1) / 1e3
