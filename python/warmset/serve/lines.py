"""Reads the lines of a stream, with a limit on their length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST: Final = 32 * 1024 * 1024
"""The default of the most bytes of a line."""

_CHUNK: Final = 256 * 1024
_END: Final = b"\n"


@dataclass(frozen=True, slots=True)
class TooLong:
    """Stands for a line that was skipped because it was too long.

    Args:
        size: Its bytes, without its end.
    """

    size: int


class Lines:
    """The lines of a stream; blank ones are skipped, and the last one needs no end.

    A line above the limit is read to its end and discarded. Time is linear in the bytes read, and
    memory in the longest line.

    Args:
        read: Returns the next bytes, at most as many as it is asked for; none at the end.
        longest: Bytes that a line may have, without its end.
    """

    def __init__(self, read: Callable[[int], bytes], *, longest: int = LONGEST) -> None:
        self._read = read
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def __iter__(self) -> Iterator[bytes | TooLong]:
        while chunk := self._read(_CHUNK):
            *ends, rest = chunk.split(_END)
            for piece in ends:
                self._take(piece)
                yield from self._line()
            self._take(rest)
        yield from self._line()

    def _take(self, piece: bytes) -> None:
        """Add a piece to the line, unless the line has become too long."""
        self._size += len(piece)
        if self._size - 1 > self._longest:  # it may yet end with a carriage return
            self._parts.clear()
        elif piece:
            self._parts.append(piece)

    def _line(self) -> Iterator[bytes | TooLong]:
        size, line = self._size, b"".join(self._parts)
        self._size = 0
        self._parts.clear()
        if size == len(line):
            line = line.removesuffix(b"\r")
            size = len(line)
        if size > self._longest:
            yield TooLong(size)
        elif line.strip():
            yield line
