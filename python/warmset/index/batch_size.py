"""Chooses the size of batches, so that each takes only a moment."""

from __future__ import annotations

from typing import Final

LEAST: Final = 16
"""Jobs of a batch until it is known how long one takes, and again after a failure."""

MOST: Final = 512

QUICK: Final = 0.02
"""Seconds that a batch may take and still be doubled; one of over twice that is halved."""


class Pace:
    """The size of the next batch, by how long the last ones took.

    A table of word pieces does thousands of texts a second, so that what is done once a batch, a
    record's way to the disk foremost, would cost more than the vectors. A network does a dozen in
    that time. Batches adapt, so that waiting for the end of one never takes longer than a moment.
    """

    def __init__(self) -> None:
        self.size = LEAST

    def took(self, count: int, seconds: float) -> None:
        """Record a batch that succeeded.

        Args:
            count: Its jobs; a batch that was not full says nothing about a larger one.
            seconds: How long it took.
        """
        if count >= self.size and seconds < QUICK:
            self.size = min(2 * self.size, MOST)
        elif seconds > 2 * QUICK:
            self.size = max(self.size // 2, LEAST)

    def failed(self) -> None:
        """Record a batch that failed, so that its jobs are retried one by one."""
        self.size = LEAST
