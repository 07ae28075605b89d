"""Reserves standard input and output for a protocol; all other output goes to standard error.

The file descriptors themselves are moved, so this also covers libraries that write without Python.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN: Final = 0
_OUT: Final = 1
_ERR: Final = 2


@dataclass(frozen=True, slots=True)
class Streams:
    """The two descriptors of a protocol.

    Args:
        source: Where requests come from.
        sink: Where answers go.
    """

    source: int
    sink: int

    def read(self, size: int) -> bytes:
        """Return the available bytes, at most as many as requested; none at the end.

        Raises:
            InvalidInputError: It cannot be read.
        """
        try:
            return os.read(self.source, size)
        except OSError as error:
            why = f"standard input cannot be read: {error.strerror}; give a pipe or a file"
            raise InvalidInputError(why) from error

    def write(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            BrokenPipeError: The reader closed the stream.
            InvalidInputError: It cannot be written.
        """
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self.sink, rest) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            why = f"standard output cannot be written: {error.strerror}; give another one"
            raise InvalidInputError(why) from error


@contextmanager
def claimed() -> Iterator[Streams]:
    """Reserve standard input and output; both are restored at the end.

    Meanwhile, standard input is empty for all other code, and standard output is standard error.
    Programs that are started meanwhile inherit neither.

    Raises:
        InvalidInputError: One of them is closed.
    """
    for number, name in ((_IN, "standard input"), (_OUT, "standard output")):
        if not _is_open(number):
            raise InvalidInputError(
                f"{name} is closed; requests come in on standard input, answers go out on "
                "standard output"
            )
    with ExitStack() as held:
        if not _is_open(_ERR):  # the next opened file would get its number
            held.callback(os.close, os.open(os.devnull, os.O_RDWR))
        nobody = os.open(os.devnull, os.O_RDWR)
        held.callback(os.close, nobody)
        kept = [os.dup(_IN), os.dup(_OUT)]
        for one in kept:
            held.callback(os.close, one)
            with suppress(
                AttributeError, OSError
            ):  # a process that shares it may have changed that
                os.set_blocking(one, True)
        held.callback(_give_back, kept)
        _flush()
        os.dup2(nobody, _IN)
        os.dup2(_ERR, _OUT)
        yield Streams(*kept)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _give_back(kept: list[int]) -> None:
    _flush()
    for number, one in zip((_IN, _OUT), kept, strict=True):
        os.dup2(one, number)


def _flush() -> None:
    """Flush what was printed so far to its original destination."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
