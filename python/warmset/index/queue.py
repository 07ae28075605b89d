"""The backlog of jobs by state: queued, deferred, at work, failed.

The queue is bounded. The store has every turn already, so jobs that do not fit are deferred: only
their ids are remembered, and the store is scanned again from the least of them once there is room.
Failed jobs are queued again automatically, each time after a longer delay.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from warmset.index.retry import Outcome
    from warmset.store.records import Job

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 300.0
TRIES: Final = 10
"""A failure is tried again after 1, 2, 4 ... seconds, ten times in all: for about 13 minutes."""


def delay_after(tries: int) -> float:
    """Return the seconds to wait after a number of failures in a row."""
    return min(FIRST_DELAY * 2.0 ** max(tries - 1, 0), LONGEST_DELAY)


@dataclass(slots=True)
class _Failure:
    """Why a job failed, how often, and when it is due again; never, if that is None."""

    why: str
    tries: int
    due: float | None


class Backlog:
    """Jobs by state; its owner holds a lock during each call.

    Args:
        most: How many jobs are queued at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: deque[Job] = deque()
        self._taken: list[Job] = []
        self._again: set[Job] = set()  # contexts that were asked for while they were made
        self._asked: set[Job] = set()
        self._turns: set[int] = set()  # those of asked jobs for their own vectors
        self._failed: dict[Job, _Failure] = {}
        self._tried: dict[Job, int] = {}
        self._deferred: int | None = None
        self._unqueued: set[int] = set()  # turns that were deferred; not those that are looked for
        self._looking: set[int] | None = None
        self._looking_from = 0
        self._next: float | None = None

    def add(self, jobs: Iterable[Job], there: Callable[[Job], bool]) -> None:
        """Queue jobs that are neither known nor done; defer those that do not fit.

        Args:
            jobs: The wanted jobs.
            there: Returns whether a job has its vectors already.
        """
        for job in dict.fromkeys(jobs):
            if job in self._asked or self._waits(job) or there(job):
                if job.view == "context" and job in self._taken:
                    self._again.add(job)  # it may have other neighbours than it was read with
                continue
            if self._room() > 0:
                self._ask(job)
            else:
                first = self._deferred
                self._deferred = job.id if first is None else min(first, job.id)
                if job.view == "turn":
                    self._found(job.id)
                    self._unqueued.add(job.id)

    def take(self, count: int) -> list[Job]:
        """Take the next jobs to work on; `done` completes them."""
        self._taken = [self._queue.popleft() for _ in range(min(count, len(self._queue)))]
        return list(self._taken)

    def done(self, made: Outcome, now: float) -> set[int]:
        """Record the outcome of the jobs that were taken.

        Args:
            made: Those that failed.
            now: The time, on a clock that never goes back.

        Returns:
            The turns that failed for good, unless somebody asks for another try.
        """
        lost: set[int] = set()
        for job in self._taken:
            if job not in made.failed:
                self._tried.pop(job, None)
                self._failed.pop(job, None)
                continue
            tries = self._tried[job] = self._tried.get(job, 0) + (job not in made.spared)
            due = None if made.hopeless or tries >= TRIES else now + delay_after(tries)
            self._failed[job] = _Failure(made.failed[job], tries, due)
            if due is None:
                lost.add(job.id)
            else:
                self._next = due if self._next is None else min(self._next, due)
        ended = self._asked.intersection(self._taken)
        self._asked -= ended
        self._turns -= _turns(ended)
        self._taken = []
        for job in self._again.difference(made.failed):
            self._ask(job)
        self._again.clear()
        return lost

    def wake(self, now: float) -> float | None:
        """Queue the failures that are due; returns when the next one is, if any is."""
        if self._next is None or now < self._next:
            return self._next
        ready = [job for job, one in self._failed.items() if one.due is not None and one.due <= now]
        # Jobs with the fewest failures go first: they may have failed because of others.
        for job in sorted(ready, key=lambda job: self._failed[job].tries):
            del self._failed[job]
            self._ask(job)
        left = (one.due for one in self._failed.values() if one.due is not None)
        self._next = min(left, default=None)
        return self._next

    def try_again(self) -> None:
        """Queue all failed jobs now, with their failures forgotten."""
        self._tried.clear()
        for job in self._failed:
            self._ask(job)
        self._failed.clear()
        self._next = None

    def look(self) -> int | None:
        """Return the id from which to scan the store, if there is room now.

        The caller must then call `looked` with what it found, or `look_again`.
        """
        if self._deferred is None or not self._half_free():
            return None
        first, self._deferred = self._deferred, None
        self._looking_from = first
        self._looking, self._unqueued = self._unqueued, set()
        return first

    def looked(self, jobs: Iterable[Job], there: Callable[[Job], bool]) -> None:
        """Queue what was deferred, the oldest first; what does not fit is deferred again."""
        self._looking = None
        self.add(sorted(jobs, key=lambda job: (job.id, job.view)), there)

    def look_again(self) -> None:
        """Let `look` return the same again: the store could not be scanned."""
        first = self._looking_from
        self._deferred = first if self._deferred is None else min(first, self._deferred)
        self._unqueued |= self._looking or set()
        self._looking = None

    def forget(self, ids: Collection[int]) -> None:
        """Remove erased turns."""
        self._unqueued.difference_update(ids)
        if self._looking is not None:
            self._looking.difference_update(ids)
        queue = deque(job for job in self._queue if job.id not in ids)
        asked = {job for job in self._asked if job.id not in ids}
        again = {job for job in self._again if job.id not in ids}
        turns = _turns(asked)
        failed = {job: one for job, one in self._failed.items() if job.id not in ids}
        tried = {job: tries for job, tries in self._tried.items() if job.id not in ids}
        # Together, with no call between: Ctrl-C changes all of them, or none.
        self._queue, self._asked, self._again, self._turns = queue, asked, again, turns
        self._failed, self._tried = failed, tried

    def forgive(self) -> None:
        """Remove all failures: their jobs are done."""
        self._failed.clear()
        self._tried.clear()

    @property
    def full(self) -> bool:
        """Whether jobs had to be deferred."""
        return self._deferred is not None

    @property
    def queued(self) -> int:
        """The number of jobs to work on."""
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do now; failures may be left, and fill the queue."""
        if self._asked or self._taken or self._looking is not None:
            return False
        return not self.full or not self._half_free()

    def pending(self, wanted: Callable[[int], bool] | None = None) -> int:
        """Count the turns without vectors that did not fail, all or those that are wanted."""
        if wanted is None:
            return len(self._turns) + len(self._unqueued) + len(self._looking or ())
        return sum(map(wanted, chain(self._turns, self._unqueued, self._looking or ())))

    def waits_for(self, wanted: Callable[[int], bool]) -> bool:
        """Whether a job of a wanted turn is to be done; failed jobs are not waited for."""
        asked = (job.id for job in self._asked)
        return any(map(wanted, chain(asked, self._unqueued, self._looking or ())))

    def failed(self) -> dict[int, str]:
        """Return the turns that failed, with the reason."""
        return {job.id: one.why for job, one in self._failed.items()}

    def _ask(self, job: Job) -> None:
        self._queue.append(job)
        if job.view == "turn":
            self._turns.add(job.id)
            self._found(job.id)
        self._asked.add(job)  # last: a call that was cut off before, as by Ctrl-C, is asked again

    def _found(self, turn: int) -> None:
        self._unqueued.discard(turn)
        if self._looking is not None:
            self._looking.discard(turn)

    def _room(self) -> int:
        return self._most - len(self._asked) - len(self._failed)

    def _half_free(self) -> bool:
        return self._room() >= (self._most + 1) // 2

    def _waits(self, job: Job) -> bool:
        one = self._failed.get(job)
        return one is not None and one.due is not None


def _turns(jobs: Iterable[Job]) -> set[int]:
    return {job.id for job in jobs if job.view == "turn"}
