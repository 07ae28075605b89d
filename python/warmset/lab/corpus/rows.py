"""Reads JSON and JSONL files: streamed line by line, with the place of every error."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Row: TypeAlias = tuple[str, dict[str, Any]]
"""A JSON object and its place in the file, as "line 12"."""

_BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_FOUND: Final[dict[type, str]] = {
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Add a file's name to errors that occur while it is read.

    Raises:
        InvalidInputError: Replaces an error of the operating system, or has the name before its
            message.
    """
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"{path}: {error.strerror or error}; give a file to read"
        ) from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def is_jsonl(path: Path) -> bool:
    """Return whether a file has one JSON value on each line, not a single one.

    Args:
        path: The file.

    Returns:
        Whether its first line that is not blank is a JSON object, and not a list of messages.

    Raises:
        InvalidInputError: It is empty, or not UTF-8.
        OSError: It cannot be read.
    """
    for where, text in _texts(path):
        if text[0] != "{":
            return False
        try:
            first = parse(text, where)
        except InvalidInputError:
            return False
        return not isinstance(first, dict) or not {"messages", "conversation"} & first.keys()
    raise InvalidInputError("the file is empty; give a transcript with messages")


def stream(path: Path) -> Iterator[Row]:
    """Read a JSONL file, one object a line; blank lines are skipped.

    Args:
        path: The file.

    Yields:
        Each object with its line.

    Raises:
        InvalidInputError: A line is no JSON object, or not UTF-8.
        OSError: It cannot be read.
    """
    for where, text in _texts(path):
        yield where, mapping(parse(text, where), where)


def whole(path: Path) -> Any:
    """Read a file that is one JSON value.

    Raises:
        InvalidInputError: It is not JSON, or not UTF-8.
        OSError: It cannot be read.
    """
    try:
        text = path.read_bytes().removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    return parse(text)


def numbered(items: Iterable[object], what: str = "message") -> Iterator[Row]:
    """Give the objects of a JSON list their places, as "message 12", counted from 1.

    Raises:
        InvalidInputError: One is no object.
    """
    for number, item in enumerate(items, 1):
        where = f"{what} {number}"
        yield where, mapping(item, where)


def mapping(value: object, where: str) -> dict[str, Any]:
    """Check that a value is a JSON object, and return it.

    Raises:
        InvalidInputError: It is something else.
    """
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    found = _FOUND.get(type(value), "something else")
    raise InvalidInputError(f"{where}: expected a JSON object, found {found}")


def parse(text: str, where: str = "") -> Any:
    """Read JSON.

    Args:
        text: The JSON.
        where: Its place, if it is one line of several.

    Returns:
        The value.

    Raises:
        InvalidInputError: It is not JSON; the message has line and column.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"{where or f'line {error.lineno}'}, column {error.colno}"
        raise InvalidInputError(
            f"{place}: {error.msg}; expected JSON, or JSONL with one object a line"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where + ': ' if where else ''}{error}") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; write null or a text")


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if number == 1 and raw.startswith(_UTF16):
                raise InvalidInputError("the file is UTF-16; save it as UTF-8")
            line = raw.removeprefix(_BOM) if number == 1 else raw
            try:
                text = line.decode().strip()
            except UnicodeDecodeError:
                raise InvalidInputError(
                    f"line {number}: not UTF-8; save the file as UTF-8"
                ) from None
            if text:
                yield f"line {number}", text
