"""Reads the elements of a JSON array one by one: a large file never lies in memory whole."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE: Final = 1 << 20
MOST: Final = 1 << 30
"""The most bytes of one element."""

_MARK: Final = re.compile(rb'"(?:[^"\\]|\\.)*+("?)|[{}\[\],]', re.DOTALL)
"""A text, of which the end may not be there yet, or a mark outside of texts."""

_SPACE: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"


def elements(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of each element of the array that a file is; of one object, that object.

    Args:
        file: The file, at its beginning.

    Raises:
        InvalidInputError: It is neither an array nor an object, ends too early, or one element is
            longer than 1 GiB. What was yielded before stands.
    """
    head = file.read(_PIECE).removeprefix(_BOM).lstrip(_SPACE)
    if head[:1] not in (b"{", b"["):
        raise InvalidInputError("expected a JSON array or object")
    if head[:1] == b"[":
        for one, _ in _split(file, head[1:]):
            yield from [one] if one else []
        return
    for one, is_whole in _split(file, head):
        yield one
        if is_whole:
            return


def _split(file: IO[bytes], head: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield what stands between commas outside of brackets, up to the end of the array.

    Yields:
        The bytes, and whether a bracket closes with them.
    """
    buffer = bytearray(head)
    start = at = depth = 0
    while True:
        mark = _MARK.search(buffer, at)
        if mark is None or mark[1] == b"":
            at = len(buffer) if mark is None else mark.start()
            del buffer[:start]
            at, start = at - start, 0
            if len(buffer) > MOST:
                raise InvalidInputError("an element of the array is longer than 1 GiB")
            piece = file.read(max(_PIECE, len(buffer)))
            if not piece:
                raise InvalidInputError("the file ends within its JSON; it was cut short")
            buffer += piece
            continue
        at, byte = mark.end(), mark[0]
        depth += (byte in b"{[") - (byte in b"}]")
        if depth < 0:
            yield bytes(buffer[start : at - 1]).strip(_SPACE), False
            return
        if depth == 0 and byte in b"}]":
            yield bytes(buffer[start:at]).strip(_SPACE), True
            start = at
        elif depth == 0 and byte == b",":
            if bare := bytes(buffer[start : at - 1]).strip(_SPACE):
                yield bare, False
            start = at
