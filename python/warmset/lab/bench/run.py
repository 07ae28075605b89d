"""Runs cases one after the other, and collects their figures."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.bench import count, index, store, trim, window
from warmset.lab.bench.case import Figure, Result
from warmset.lab.bench.timing import turns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from warmset.lab.bench.case import Case, Contest
    from warmset.lab.bench.trim import Trimmer

SECONDS: Final = 5.0
QUICK: Final = 0.4
"""Seconds for which the contestants of a case take turns; making them comes on top."""

_FEW: Final = 2
"""Calls from which there are percentiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run gave.

    Args:
        setting: Where the figures come from.
        results: Of each case.
    """

    setting: dict[str, object]
    results: tuple[Result, ...]

    def as_json(self) -> dict[str, Any]:
        """Return all of it, ready for JSON; ratios above 1 say that warmset is faster."""
        results = [asdict(one) | {"ratios": one.ratios} for one in self.results]
        return {"setting": self.setting, "results": results}


def all_cases(trimmer: Trimmer) -> tuple[Case, ...]:
    """Return what ``warmset bench`` measures, in order; the trimmer is `warmset.trim_messages`."""
    return (*index.CASES, *store.CASES, *trim.cases(trimmer), *window.CASES, *count.CASES)


def chosen(cases: Sequence[Case], only: Collection[str], *, quick: bool) -> tuple[Case, ...]:
    """Return the cases that are asked for.

    Args:
        cases: All of them.
        only: Names of cases and groups; all cases if empty.
        quick: Leave the slow ones out, unless they are named.

    Raises:
        InvalidInputError: There is no case or group of that name.
    """
    known = {one.name for one in cases} | {one.group for one in cases}
    if unknown := sorted(set(only) - known):
        raise InvalidInputError(f"no case or group {unknown[0]!r}; there are {sorted(known)}")
    return tuple(
        one
        for one in cases
        if one.name in only or ((not only or one.group in only) and (one.quick or not quick))
    )


def measure(
    cases: Sequence[Case],
    place: Path | None,
    *,
    seconds: float,
    progress: Callable[[str, int, int], None],
) -> tuple[Result, ...]:
    """Measure cases, one after the other.

    Args:
        cases: What to measure.
        place: A directory on the disk that is measured; the temporary one if None.
        seconds: For which the contestants of a case take turns.
        progress: Told the case, and how much of it is done, of how much.

    Returns:
        A result for each case.

    Raises:
        WrongResultError: A contestant gave a wrong result.
        ContestantError: A peer failed while it was timed.
    """
    results: list[Result] = []
    for case in cases:
        told = partial(progress, case.name)
        told(0, 1)
        with (
            tempfile.TemporaryDirectory(prefix="warmset-bench-", dir=place) as directory,
            case.open(Path(directory), None) as contest,
        ):
            results.append(_timed(case, contest, seconds, told))
    return tuple(results)


def _timed(
    case: Case, contest: Contest, seconds: float, progress: Callable[[int, int], None]
) -> Result:
    times = turns(contest.calls, seconds, most=contest.most, progress=progress)
    contest.check()
    return Result(
        name=case.name,
        group=case.group,
        what=case.what,
        of=contest.of,
        figures={one: _figure(contest, found) for one, found in times.items()},
        left_out=dict(contest.left_out),
        notes={one: note for one, note in contest.notes.items() if one in times},
    )


def _figure(contest: Contest, found: list[float]) -> Figure:
    whole = fmean(found) if contest.of == "mean" else median(found)
    late = quantiles(found, n=20)[-1] if len(found) >= _FEW else found[0]
    units = contest.items
    return Figure(
        microseconds=whole / units, fastest=min(found) / units, p95=late / units, calls=len(found)
    )
