"""Simulated time, and a summarizer that takes a given amount of it.

A run of an hour is shown in a second, and the same on every machine. What a summariser writes is
written for real, once its time has passed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(slots=True)
class SimulatedTime:
    """A clock in seconds, and tasks that end at their time; it is a `Worker` of a preparation.

    Args:
        latency: Seconds that a task takes.
        now: The time.
        working: Real seconds that the tasks took.
    """

    latency: float
    now: float = 0.0
    working: float = 0.0
    _tasks: list[_Task] = field(default_factory=list["_Task"])

    def __call__(self) -> float:
        """Tell the time."""
        return self.now

    def start(self, task: Callable[[], None], /) -> _Task:
        """Begin a task, which ends when its latency has passed."""
        made = _Task(self, self.now + self.latency, task)
        self._tasks.append(made)
        return made

    def pass_to(self, then: float) -> None:
        """Let time pass, and the tasks end that are due."""
        while self._tasks and (first := min(self._tasks, key=lambda one: one.due)).due <= then:
            self._tasks.remove(first)
            self.now = max(self.now, first.due)
            begun = time.perf_counter()
            first.task()
            self.working += time.perf_counter() - begun
            first.ended = True
        self.now = max(self.now, then)


@dataclass(slots=True, eq=False)
class _Task:
    """A task that was begun."""

    time: SimulatedTime
    due: float
    task: Callable[[], None]
    ended: bool = False

    def wait(self, seconds: float, /) -> bool:
        """Let time pass until the task ends, at most so long; tells whether it has ended."""
        self.time.pass_to(min(self.due, self.time.now + seconds))
        return self.ended
