"""How an object is entered as its lock is, with no Python between taking the lock and the block.

In a method of Python, Ctrl-C may come just when the lock was taken, and nobody would give it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


class LockStep(Generic[_T]):
    """A descriptor for `__enter__` or `__exit__` of what has a lock in `_lock`: the lock's own.

    Args:
        name: Which of the two.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, one: Any, owner: object = None) -> Callable[..., _T]:
        """Return the lock's own method; of the class, as `ExitStack` asks, one that takes both."""
        if one is None:
            return lambda one, *given: self.__get__(one)(*given)
        step: Callable[..., _T] = getattr(one._lock, self._name)  # noqa: SLF001 - as this says
        return step
