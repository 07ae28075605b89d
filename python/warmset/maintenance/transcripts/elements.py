"""Reads the elements of a JSON array one by one, so that a large file never lies in memory whole."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE: Final = 1 << 20
_MOST: Final = 1 << 30
"""The most bytes of one element."""

_MARK: Final = re.compile(rb'["\\{}\[\],]')
_SPACE: Final = b" \t\r\n"


def elements(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of each element of the array that a file is; of one object, that object.

    Args:
        file: The file, at its beginning.

    Raises:
        InvalidInputError: It is neither an array nor an object, ends too early, or one element is
            longer than 1 GiB. What was yielded before stands.
    """
    head = file.read(_PIECE).removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
    if head[:1] == b"{":
        yield from _Elements(file, b"[" + head, single=True)
        return
    if head[:1] != b"[":
        raise InvalidInputError("expected a JSON array or object")
    yield from _Elements(file, head, single=False)


class _Elements:
    """A walk over the bytes of an array, which keeps the depth of brackets and nothing else."""

    def __init__(self, file: IO[bytes], head: bytes, *, single: bool) -> None:
        self._file = file
        self._buffer = bytearray(head[1:])
        self._single = single

    def __iter__(self) -> Iterator[bytes]:
        start = at = depth = 0
        quoted = False
        buffer = self._buffer
        while True:
            mark = _MARK.search(buffer, at)
            if mark is None or (mark[0] == b"\\" and mark.end() == len(buffer)):
                at = len(buffer) if mark is None else mark.start()
                if len(buffer) - start > _MOST:
                    raise InvalidInputError("an element of the array is longer than 1 GiB")
                del buffer[:start]
                at, start = at - start, 0
                piece = self._file.read(_PIECE)
                if not piece:
                    raise InvalidInputError("the file ends within the JSON array; it was cut short")
                buffer += piece
                continue
            byte, at = mark[0], mark.end()
            if byte == b"\\":
                at += 1
            elif byte == b'"':
                quoted = not quoted
            elif quoted:
                continue
            elif byte in b"{[":
                depth += 1
            elif byte == b"]" and not depth:
                if last := bytes(buffer[start : at - 1]).strip(_SPACE):
                    yield last
                return
            elif byte in b"}]":
                depth -= 1
                if self._single and not depth:
                    yield bytes(buffer[start:at]).strip(_SPACE)
                    return
            elif byte == b"," and not depth:
                yield bytes(buffer[start : at - 1]).strip(_SPACE)
                start = at
