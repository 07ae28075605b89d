"""SIGTERM: the command ends like after Ctrl-C, with the store closed, and with exit code 143."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

TERMINATED: Final = 143
"""The exit code of a program that SIGTERM ended, by the convention of shells."""


class Terminated(BaseException):
    """The process got SIGTERM."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` where the program is when SIGTERM arrives."""

    def end(_number: int, _frame: object) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
