"""What a fork needs: the child has one thread, and whatever the others had locked stays locked.

Before a fork, imports of warmset that are under way in other threads are waited for, and so are the
few locks of the core that all stores of a process share. In the child, the locks of `Lock` are free
and `in_child` calls what starts anew there. A store that was opened before is the parent's: its
handles raise `Forked` in the child, before they touch any lock.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Final

from warmset._support.lock_steps import LockStep

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

AWAITED: Final = frozenset(
    {
        "warmset",
        "anthropic",
        "huggingface_hub",
        "numpy",
        "onnx",
        "onnxruntime",
        "openai",
        "safetensors",
        "tokenizers",
    }
)
"""Packages whose imports are waited for: warmset imports them when they are first used."""


WAIT: Final = 30.0
"""Seconds that a fork waits at most for a lock that is awaited."""


class Lock:
    """A lock that is free in the child of a fork, whichever thread of the parent had it.

    It protects what the child may go on using, such as a loaded model. A thread that forks while it
    has the lock has it in the child, too.

    Args:
        awaited: Whether a fork waits until the lock is free, because what it protects cannot be
            begun in one process and go on in the other: a library's own first steps.
    """

    def __init__(self, *, awaited: bool = False) -> None:
        self.awaited = awaited
        self._lock = threading.RLock()
        self._taken = False
        _locks.add(self)

    __enter__ = LockStep[bool]("__enter__")
    __exit__ = LockStep[None]("__exit__")

    def before_fork(self) -> None:
        """Take the lock for the time of a fork, if another thread gives it back in time."""
        self._taken = self.awaited and self._lock.acquire(timeout=WAIT)

    def after_fork(self) -> None:
        """Give the lock back that was taken for a fork."""
        if self._taken:
            self._taken = False
            self._lock.release()

    def start_anew(self) -> None:
        """Free the lock in the child of a fork, unless the thread that forked has it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def in_child(call: Callable[[], None]) -> None:
    """Have a function called in every child of a fork, before anything else runs there."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=call)


def _all_locks() -> list[Lock]:
    """Return all locks, while other threads may make and drop some."""
    while True:
        try:
            return list(_locks)
        except RuntimeError:  # the set changed meanwhile
            continue


def _before() -> None:
    for name in _loading():
        try:
            import_module(name)  # waits for the other thread, and returns if it is this one
        except Exception:  # noqa: BLE001, S112 - who asked for the module gets the error
            continue
    for lock in _all_locks():
        lock.before_fork()
    if (core := _core()) is not None:
        core.before_fork()


def _after() -> None:
    if (core := _core()) is not None:
        core.after_fork()
    for lock in _all_locks():
        lock.after_fork()


def _start_anew() -> None:
    _after()
    for lock in _all_locks():
        lock.start_anew()


def _loading() -> list[str]:
    """Return the modules that are imported at the moment, as far as they are waited for.

    A module that is still looked for is not among `sys.modules`; its lock is held already.
    """
    names = [name for name, module in list(sys.modules.items()) if _is_loading(module)]
    names += list(getattr(sys.modules.get("_frozen_importlib"), "_module_locks", ()))
    return [name for name in names if isinstance(name, str) and name.partition(".")[0] in AWAITED]


def _is_loading(module: ModuleType) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False) is True


def _core() -> ModuleType | None:
    core = sys.modules.get("warmset._core")
    return None if core is None or _is_loading(core) else core


if sys.platform != "win32":
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_start_anew)
