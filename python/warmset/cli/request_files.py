"""Reads the requests of files: one JSON value, or one on each line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus import rows
from warmset.messages.sent import LISTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BOM: Final = b"\xef\xbb\xbf"


def read_files(files: Sequence[Path]) -> list[Any]:
    """Read the requests of several files, in their order.

    A file has one request (an object or a list of messages), a list of requests, or JSON lines:
    one request a line, or the messages of one list.

    Args:
        files: The files; "-" is standard input.

    Returns:
        The requests, as they stand in the files.

    Raises:
        InvalidInputError: A file cannot be read; the message names it, the place and what to do.
    """
    found: list[Any] = []
    for file in files:
        with rows.reading(file):
            data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
            found += _requests(data)
    return found


def _requests(data: bytes) -> list[Any]:
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        msg = f"byte {error.start} is not UTF-8; save the file as UTF-8"
        raise InvalidInputError(msg) from None
    if not text.strip():
        raise InvalidInputError("the file is empty; give a request as JSON")
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = _on_lines(lines)
    if values is None:
        value = rows.parse(text)
        values = value if isinstance(value, list) and all(map(_is_request, value)) else [value]
    elif not any(map(_is_request, values)):
        values = [values]  # the messages of one list, one on each line
    for value in values:
        if not isinstance(value, list) and not _is_request(value):
            raise InvalidInputError(
                "found no request; give an object with messages, input or contents, a list of "
                "messages, or one request a line"
            )
    return values


def _on_lines(lines: Sequence[tuple[int, str]]) -> list[Any] | None:
    """Return the value of each line; None if the text is one value on several lines, or on one."""
    if len(lines) == 1:
        return None
    try:
        first = rows.parse(lines[0][1])
    except InvalidInputError:
        return None
    return [first, *(rows.parse(line, f"line {number}") for number, line in lines[1:])]


def _is_request(value: object) -> bool:
    if isinstance(value, list):
        return bool(value)
    if not isinstance(value, dict) or value.keys() & {"role", "type"}:
        return False  # a message or an item of a list, which may have a field named input
    return any(one in value for one in LISTS)
