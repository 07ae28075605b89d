"""Checks how locks are used, for tests: who holds what, and in which order it was taken.

What is found is raised where it happens, and kept in `FOUND`: an error in the middle of a call may
be caught there, as that of an embedder.
"""

from __future__ import annotations

import functools
import sys
import threading
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from warmset._support.forks import Lock
from warmset._support.locks import ORDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from warmset._support.locks import Name

_T = TypeVar("_T")

FOUND: Final[list[str]] = []
"""What was found so far in this process."""

_RANK: Final = {name: at for at, name in enumerate(ORDER)}


class _Thread(threading.local):
    """What the thread that asks holds, in the order in which it was taken, and what it makes.

    It `looks` while a test has called a method of something by itself, for which it needs no lock.
    """

    def __init__(self) -> None:
        self.held: list[CheckedLock] = []
        self.made: list[int] = []
        self.looks = 0


_thread: Final = _Thread()


class CheckedLock:
    """A lock that knows who holds it, and refuses to be taken out of order.

    Args:
        name: Its name.
        lock: The lock itself, a `Lock` or an `RLock`.
    """

    def __init__(self, name: Name, lock: Any) -> None:
        self.name = name
        self._lock = lock

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_exc: object) -> None:
        self.release()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as that of `threading`
        """Take the lock; see `threading.Lock.acquire`.

        Raises:
            AssertionError: This thread holds one that is taken after it.
        """
        mine = _thread.held
        if mine and blocking and not self._is_owned():  # who does not wait keeps nobody waiting
            later = [one.name for one in mine if _RANK[one.name] >= _RANK[self.name]]
            if later:
                _found(f"the lock {self.name!r} is taken by who holds {', '.join(later)}")
        taken: bool = self._lock.acquire(blocking, timeout)
        if taken:
            mine.append(self)
        return taken

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()
        held = _thread.held
        if held[-1] is self:
            held.pop()
            return
        del held[len(held) - 1 - held[::-1].index(self)]

    def _is_owned(self) -> bool:
        return any(one is self for one in _thread.held)

    def _release_save(self) -> tuple[object, int]:
        """Give the lock back as often as it was taken, for `threading.Condition`."""
        times = sum(one is self for one in _thread.held)
        _thread.held[:] = [one for one in _thread.held if one is not self]
        return self._lock._release_save(), times  # noqa: SLF001 - as `Condition` does

    def _acquire_restore(self, state: tuple[object, int]) -> None:
        self._lock._acquire_restore(state[0])  # noqa: SLF001 - as `Condition` does
        _thread.held.extend([self] * state[1])


def _step(plain: Any) -> Any:
    """Return a method of `dict` that a `CheckedDict` checks first."""

    def call(self: CheckedDict, *given: Any) -> Any:
        if not _is_owned(self._lock) and _is_ours(_user().f_globals["__name__"]):
            _found(f"a dict is used without its lock: {plain.__name__}")
        return plain(self, *given)

    return call


class CheckedDict(dict[Any, Any]):
    """A dict of a module, which is used by who holds a lock.

    Args:
        lock: The lock.
    """

    def __init__(self, lock: object) -> None:
        super().__init__()
        self._lock = lock

    __getitem__ = _step(dict.__getitem__)
    __setitem__ = _step(dict.__setitem__)
    __delitem__ = _step(dict.__delitem__)
    __iter__ = _step(dict.__iter__)
    get = _step(dict.get)
    pop = _step(dict.pop)
    setdefault = _step(dict.setdefault)


def check_class(
    cls: type,
    by: str,
    *,
    fields: tuple[str, ...],
    writes: tuple[str, ...],
    calls: tuple[str, ...],
) -> None:
    """Have a class check what `locks.guarded` declares of it."""
    check = _check(by)
    for name in (*fields, *writes):
        setattr(cls, name, _Attribute(cls, name, check, reads=name in fields))
    for name in calls:
        plain = cls.__dict__[name]
        if isinstance(plain, property):
            read: Any = plain.fget
            setattr(cls, name, property(_checked(read, check), plain.fset, doc=plain.__doc__))
        else:
            setattr(cls, name, _checked(plain, check))
    cls.__init__ = _making(cls.__init__)  # type: ignore[misc]  # of this class alone


def _check(by: str) -> Callable[[object, str], bool]:
    """Return what raises an error unless a lock is held; it returns whether a test looks."""
    way = attrgetter(by.removeprefix("self.")) if by.startswith("self.") else None

    def check(one: object, name: str) -> bool:
        state = _thread
        lock = None if way is None else way(one) if id(one) not in state.made else one
        for held in state.held:  # nearly always one, and the right one
            if held is lock or (lock is None and held.name == by):
                return False
        if id(one) in state.made or state.looks or (lock is not None and _is_owned(lock)):
            return False
        if not _is_looked_at(one):
            _found(f"{type(one).__name__}.{name} is used without its lock, {by}")
        return True

    return check


def _is_looked_at(one: object) -> bool:
    """Return whether something of the package is used by code outside of it: a test looks at it."""
    return _is_ours(type(one).__module__) and not _is_ours(_user(one).f_globals["__name__"])


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _user(one: object = None) -> FrameType:
    """Return the frame that uses what is guarded: not one of this file, nor a method of it."""
    frame = sys._getframe()  # noqa: SLF001 - there is no other way
    while frame.f_back is not None and (
        frame.f_code.co_filename == __file__
        or (one is not None and frame.f_locals.get("self") is one)
    ):
        frame = frame.f_back
    return frame


def _is_owned(lock: Any) -> bool:
    """Return whether this thread holds a lock, or that of a condition."""
    if isinstance(lock, Lock):
        lock = lock._lock  # noqa: SLF001 - nobody else asks
    owned: bool = lock._is_owned()  # noqa: SLF001 - as `threading.Condition` asks
    return owned


def _found(what: str) -> None:
    frame = _user()
    what = f"{what} ({frame.f_code.co_filename}:{frame.f_lineno})"
    FOUND.append(what)
    sys.stderr.write(f"{what}\n")  # also from a process that a test begins
    raise AssertionError(what)


class _Attribute:
    """An attribute that is set, and read if that is wanted, by who holds its lock."""

    def __init__(
        self, cls: type, name: str, check: Callable[[object, str], bool], *, reads: bool
    ) -> None:
        slot = cls.__dict__.get(name)
        self._name = name
        self._slot = slot if hasattr(slot, "__set__") else None
        self._check = check
        self._reads = reads

    def __get__(self, one: object | None, cls: type | None = None) -> Any:
        if one is None:
            return self
        if self._reads:
            self._check(one, self._name)
        if self._slot is not None:
            return self._slot.__get__(one, cls)
        try:
            return one.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, one: object, value: object) -> None:
        self._check(one, self._name)
        if self._slot is not None:
            self._slot.__set__(one, value)
        else:
            one.__dict__[self._name] = value

    def __delete__(self, one: object) -> None:
        self._check(one, self._name)
        if self._slot is not None:
            self._slot.__delete__(one)
        else:
            del one.__dict__[self._name]


def _checked(plain: Callable[..., _T], check: Callable[[object, str], bool]) -> Callable[..., _T]:
    @functools.wraps(plain)
    def call(one: object, /, *args: Any, **options: Any) -> _T:
        looks = check(one, plain.__name__)
        _thread.looks += looks
        try:
            return plain(one, *args, **options)
        finally:
            _thread.looks -= looks

    return call


def _making(plain: Callable[..., None]) -> Callable[..., None]:
    """Let whoever makes an object do so without its lock: nobody else has it yet."""

    @functools.wraps(plain)
    def make(one: object, /, *args: Any, **options: Any) -> None:
        _thread.made.append(id(one))
        try:
            plain(one, *args, **options)
        finally:
            _thread.made.remove(id(one))

    return make
