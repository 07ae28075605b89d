"""The locks of the Python layer by name, and what each of them guards.

A lock is made here, under its name; a class whose instances several threads share says beside its
definition which of its attributes and methods need which lock. In normal use these are plain locks
of `threading`, and nothing is looked at. With `WARMSET_CHECK_LOCKS=1` in the environment, as in the
tests, an `AssertionError` names what is used without its lock, and locks that are taken in another
order than that of `ORDER`; see `lock_checks`.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, get_args

from warmset._support.lock_steps import LockStep

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

Name: TypeAlias = Literal[
    "memories",
    "pipeline",
    "tools",
    "pages",
    "place",
    "turn",
    "index_file",
    "embedding",
    "shelf",
    "items",
    "text_vectors",
    "engine",
    "jobs",
    "descriptions",
    "readings",
    "query_vectors",
    "numbers",
    "spending",
    "redaction",
    "notices",
    "plans",
    "watch",
    "documents",
]

ORDER: Final[tuple[Name, ...]] = get_args(Name)
"""The order in which one thread takes locks: who holds one takes only those that come later."""

CHECKED: Final = os.environ.get("WARMSET_CHECK_LOCKS", "") not in ("", "0")
"""Whether the use of locks is checked in this process."""


def lock(name: Name) -> threading.Lock:
    """Return a lock that no thread takes twice."""
    if CHECKED:
        from warmset._support.lock_checks import CheckedLock  # noqa: PLC0415 - for tests alone

        return CheckedLock(name, threading.Lock())  # type: ignore[return-value]  # used alike
    return threading.Lock()


def rlock(name: Name) -> threading.RLock:
    """Return a lock that the thread which holds it may take again."""
    if CHECKED:
        from warmset._support.lock_checks import CheckedLock  # noqa: PLC0415 - for tests alone

        return CheckedLock(name, threading.RLock())  # type: ignore[return-value]  # used alike
    return threading.RLock()


def condition(name: Name) -> threading.Condition:
    """Return a condition with a lock of its own, which its holder may take again."""
    return _Condition(rlock(name))


class _Condition(threading.Condition):
    """A condition whose lock is taken without Python in which Ctrl-C could leave it taken."""

    __enter__ = LockStep[bool]("__enter__")  # pyright: ignore[reportAssignmentType]
    __exit__ = LockStep[None]("__exit__")  # pyright: ignore[reportAssignmentType]


def guarded_dict(by: object) -> dict[Any, Any]:
    """Return a dict of a module that is used under a lock; `clear` needs none, after a fork."""
    if CHECKED:
        from warmset._support.lock_checks import CheckedDict  # noqa: PLC0415 - for tests alone

        return CheckedDict(by)
    return {}


def guarded(
    by: str,
    *,
    fields: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    calls: tuple[str, ...] = (),
) -> Callable[[type[_T]], type[_T]]:
    """Declare what of a class needs a lock; nothing does while an instance is being made.

    Args:
        by: `self.` and the way to the lock from an instance, or the name of a lock: then the
            thread must hold one of that name.
        fields: Attributes that are neither read nor set without it.
        writes: Attributes that are not set without it; they may be read, because what is read stays
            whole: a number, or an object that is replaced and not changed.
        calls: Methods and properties that are called by who holds it.
    """

    def declared(cls: type[_T]) -> type[_T]:
        if CHECKED:
            from warmset._support.lock_checks import check_class  # noqa: PLC0415 - for tests alone

            check_class(cls, by, fields=fields, writes=writes, calls=calls)
        return cls

    return declared
