"""Decides how long a few new jobs wait, so that they do not take the core from who appended them.

An agent appends a message and at once asks for a window, whose query is embedded by the same model.
A batch that begins in between makes that query wait for texts that nobody looks for yet.
"""

from __future__ import annotations

from typing import Final

QUIET: Final = 0.01
"""Seconds without a new job or a query after which the jobs are done."""

LONGEST: Final = 0.1
"""The most seconds that a job waits."""


class Linger:
    """How long the first jobs wait after a time without any; its owner holds a lock during a call.

    Args:
        enough: So many jobs do not wait: they are a batch.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self._first: float | None = None
        self._last = 0.0

    def queued(self, now: float) -> None:
        """Record that jobs were queued."""
        self._last = now
        if self._first is None:
            self._first = now

    def hurry(self) -> None:
        """Record that somebody waits for what was queued, or that it is being done."""
        self._first = None

    def left(self, now: float, jobs: int, asked: float | None) -> float:
        """Return the seconds to wait.

        Args:
            now: The time, on a clock that never goes back.
            jobs: The number of queued jobs.
            asked: When the last query was embedded; None while one is.
        """
        if self._first is None or jobs >= self._enough:
            return 0.0
        end = self._first + LONGEST
        if asked is not None:
            end = min(end, max(self._last, asked) + QUIET)
        return max(end - now, 0.0)
