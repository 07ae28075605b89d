"""Runs a batch of jobs so that a failing job affects only itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warmset._support.log import kind
from warmset.errors import EmbedderMismatch, Erased, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.store.records import Job

OUTAGE: Final = 2
"""Jobs that fail one after the other, right after their batch, before a service counts as away."""


@dataclass(slots=True)
class Outcome:
    """The outcome of a batch.

    Args:
        failed: Jobs that failed, with the reason.
        spared: Those of them that were not tried alone, because the service seems to be
            unreachable.
        hopeless: Whether a retry is pointless.
        error: The class of the error that the last one of them failed with, for the log.
    """

    failed: dict[Job, str] = field(default_factory=dict)
    spared: set[Job] = field(default_factory=set)
    hopeless: bool = False
    error: str = ""


def attempt(
    jobs: Sequence[Job],
    work: Callable[[Sequence[Job]], None],
    *,
    remote: bool,
    stopped: Callable[[], bool],
) -> Outcome:
    """Run a batch; if it fails, run its jobs one by one.

    Args:
        jobs: The batch.
        work: Runs jobs; if it raises, it has done none of them.
        remote: Whether a failure may mean that a service is out of reach; then the batch is
            abandoned after two further failures.
        stopped: Returns whether to stop.

    Returns:
        The outcome; a turn that was erased meanwhile does not count as failed.
    """
    why = _try(work, jobs) if jobs else None
    if isinstance(why, EmbedderMismatch):
        return Outcome(dict.fromkeys(jobs, _why(why)), hopeless=True, error=kind(why))
    made = Outcome()
    if why is None:
        return made
    for at, job in enumerate(jobs):
        if stopped():
            break
        if len(jobs) > 1:
            why = _try(work, [job])
        if why is not None and not isinstance(why, (Erased, NotFound)):
            made.failed[job] = _why(why)
            made.error = kind(why)
        if remote and len(made.failed) == at + 1 == OUTAGE:
            made.spared = set(jobs[at + 1 :])
            made.failed |= dict.fromkeys(jobs[at + 1 :], _why(why))
            break
    return made


def _try(work: Callable[[Sequence[Job]], None], jobs: Sequence[Job]) -> BaseException | None:
    try:
        work(jobs)
    except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise to, not even exit()
        return error
    return None


def _why(error: BaseException | None) -> str:
    """Return what an error says, or what it is if it says nothing, as a cancelled task's."""
    return str(error) or repr(error)
