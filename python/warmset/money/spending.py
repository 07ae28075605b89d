"""What the calls of one conversation took, and when the last window was made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from warmset._support.locks import guarded, lock
from warmset.money.bill import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.money.bill import Bill


@guarded(
    "self._lock",
    fields=("_last", "_total"),
)
class Spending:
    """Adds up the settled calls of a conversation; thread-safe.

    It is pickled without its sums: a window in another process is settled by itself.

    Args:
        clock: Returns the time in seconds.
    """

    __slots__ = ("_last", "_lock", "_total", "clock")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = lock("spending")
        self._last: float | None = None
        self._total = Totals()

    def __reduce__(self) -> tuple[type[Spending], tuple[()]]:
        return Spending, ()

    @property
    def total(self) -> Totals:
        """The sum of the calls settled so far."""
        with self._lock:
            return self._total

    def add(self, bill: Bill) -> None:
        """Add a settled call."""
        with self._lock:
            self._total = self._total.plus(bill)

    def idle(self) -> float | None:
        """Note that a window is made now.

        Returns:
            Seconds since the window before; None if there is none.
        """
        with self._lock:
            before, self._last = self._last, self.clock()
            return None if before is None else self._last - before
