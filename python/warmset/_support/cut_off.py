"""What is done where a call ends in the middle: by Ctrl-C, or another signal whose handler raises.

Such an exception comes between any two calls of Python. What was written by then is written; what
is known of it in memory may be half of it, and is thrown away and made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class IfCutOff:
    """A context manager that calls something if its block raises.

    It is no generator: one that was entered and whose block never began would be ended later, at
    any place.

    Args:
        then: What throws away what may be there in part.
        unless: Exceptions before which everything is whole.
    """

    __slots__ = ("_then", "_unless")

    def __init__(self, then: Callable[[], object], unless: type[Exception] | None = None) -> None:
        self._then = then
        self._unless = unless

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Call it, if the block raised."""
        if kind is not None and (self._unless is None or not issubclass(kind, self._unless)):
            self._then()
