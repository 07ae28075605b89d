"""Encodes messages as bytes, and decodes them without any change.

The decoded message is JSON-equal to the original: key order, lone surrogates, NUL and four-byte
characters are preserved. Values that JSON would change silently (keys that are not strings, NaN,
other types) are rejected with their place inside the message. Tuples become lists. Messages with
equal values in equal key order give equal bytes, so a hash of the bytes tells whether a message
changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn, cast

from warmset.errors import InvalidMessageError, NotFiniteError
from warmset.messages.client_only import without_client_only
from warmset.messages.sdk_objects import dumped, is_dumpable, is_model

if TYPE_CHECKING:
    from warmset.messages.model import Message

MAX_DEPTH = 128
"""The most levels of nesting in a message; more would exhaust a parser's stack."""

_LEAVES: frozenset[type] = frozenset({str, int, bool, type(None)})
_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise NotFiniteError(f"{literal} is no finite number")
    return number


_decode = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).decode


class _NotJsonError(Exception):
    """A value that JSON cannot represent, with the path to it."""

    def __init__(self, why: str, *, finite: bool = True, foreign: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.finite = finite
        self.foreign = foreign
        self.path: list[object] = []

    def text(self) -> str:
        place = "".join(
            f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]"
            for step in reversed(self.path)
        )
        return f"{place.removeprefix('.') or 'the message'} {self.why}"


def accept(messages: Iterable[object]) -> list[Message]:
    """Convert a caller's messages to plain dicts: from dicts, other mappings, or SDK objects.

    SDK objects, nested ones too, are converted without their unset fields and without what only
    the client knows; see `client_only`. A message that is a plain dict already is returned as the
    same object.

    Args:
        messages: The list of messages.

    Returns:
        The messages as dicts that `dumps` accepts, one for each, in order.

    Raises:
        InvalidMessageError: One is not a mapping, or contains something that is not JSON.
        NotFiniteError: One contains a NaN or an infinity.
    """
    if isinstance(messages, (str, bytes, Mapping)):
        why = f"expected a list of messages, found one {type(messages).__name__}; wrap it in a list"
        raise InvalidMessageError(0, why)
    if not isinstance(messages, Iterable):
        why = f"expected a list of messages, found {type(messages).__name__}"
        raise InvalidMessageError(0, why)
    return [_plain(message, index) for index, message in enumerate(messages)]


def dumps(message: object, *, index: int = 0) -> bytes:
    """Write one message as compact JSON in UTF-8.

    Lone surrogates are written as the three bytes that they would have ("surrogatepass"), so the
    bytes of such a message are not strict UTF-8; `loads` reads them.

    Args:
        message: A message as `accept` takes them.
        index: The message's position, for the errors.

    Returns:
        The bytes; equal for equal messages with the same key order.

    Raises:
        InvalidMessageError: The message is no mapping, or holds something that is not JSON.
        NotFiniteError: It holds a NaN or an infinity.
    """
    plain = _plain(message, index)
    try:
        return _encode(plain).encode("utf-8", "surrogatepass")
    except ValueError as error:  # an integer that Python refuses to write
        raise InvalidMessageError(index, f"{error}; write it as a string") from error


def loads(data: bytes, *, index: int = 0) -> Message:
    """Read what `dumps` wrote.

    Args:
        data: The bytes.
        index: The message's position, for the errors.

    Returns:
        A message that is JSON-equal to the one that was written, in its key order.

    Raises:
        InvalidMessageError: The bytes are not one JSON object.
        NotFiniteError: They hold a number that no float can hold.
    """
    try:
        message = _decode(data.decode("utf-8", "surrogatepass"))
    except NotFiniteError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidMessageError(index, f"the bytes are not JSON: {error}") from error
    if not isinstance(message, dict):
        why = f"expected a JSON object, found a {type(message).__name__}"
        raise InvalidMessageError(index, why)
    return cast("Message", message)


def encode(value: object) -> str:
    """Write a JSON value that is inside of an accepted message, compactly."""
    return _encode(value)


def _plain(message: object, index: int) -> Message:
    try:
        plain = _tidy(message, MAX_DEPTH)
    except _NotJsonError as fault:
        why = fault.text()
        if fault.finite:
            raise InvalidMessageError(index, why) from None
        error = NotFiniteError(f"message {index}: {why}")
        error.index = index
        raise error from None
    if not isinstance(plain, dict):
        why = f"expected a mapping with a role, found a {type(message).__name__}"
        raise InvalidMessageError(index, why)
    accepted = cast("Message", plain)
    return accepted if plain is message else without_client_only(accepted)


def _tidy(value: object, room: int) -> object:
    """Return the value as JSON types, the same object where it is so already."""
    if isinstance(value, dict):
        return _tidy_dict(cast("dict[object, object]", value), room)
    if isinstance(value, list):
        return _tidy_list(cast("list[object]", value), room)
    if isinstance(value, (str, int, type(None))):  # subclasses too: enumerations
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise _NotJsonError(f"is {value}; send null or a string", finite=False)
    return _tidy_foreign(value, room)


def _tidy_foreign(value: object, room: int) -> object:
    if isinstance(value, tuple):
        return _tidy_list(list(cast("tuple[object, ...]", value)), room)
    if isinstance(value, Mapping):
        return _tidy_dict(dict(cast("Mapping[object, object]", value)), room)
    if not is_dumpable(value):
        why = f"is of type {type(value).__name__}, which JSON does not have; convert it"
        raise _NotJsonError(why, foreign=True)
    if not room:
        raise _too_deep()
    plain = dumped(value)
    try:
        return _tidy(plain, room - 1)
    except _NotJsonError as fault:
        if not fault.foreign or not is_model(value):
            raise
    _check_values(plain)
    try:
        return _tidy(dumped(value, mode="json"), room - 1)  # bytes and dates become strings
    except ValueError as error:
        why = f"is a {type(value).__name__} that cannot be written as JSON: {error}"
        raise _NotJsonError(why) from error


def _check_values(plain: object) -> None:
    """Refuse what a model would change silently when it writes itself as JSON."""
    if isinstance(plain, float) and not math.isfinite(plain):
        raise _NotJsonError(f"holds {plain}; send null or a string", finite=False)
    if isinstance(plain, dict):
        if not all(isinstance(key, str) for key in cast("dict[object, object]", plain)):
            _refuse_key()
        plain = list(cast("dict[str, object]", plain).values())
    if isinstance(plain, (list, tuple)):
        for item in cast("list[object]", plain):
            _check_values(item)


def _refuse_key() -> NoReturn:
    raise _NotJsonError("is a key that is no string; JSON would change it")


def _too_deep() -> _NotJsonError:
    return _NotJsonError(f"is nested deeper than {MAX_DEPTH} levels; send it as a string")


def _tidy_dict(value: dict[object, object], room: int) -> dict[object, object]:
    if not room:
        raise _too_deep()
    fresh: dict[object, object] | None = None
    key: object = None
    try:
        for key, item in value.items():
            if not isinstance(key, str):
                _refuse_key()
            if type(item) not in _LEAVES:
                neat = _tidy(item, room - 1)
                if neat is not item:
                    fresh = dict(value) if fresh is None else fresh
                    fresh[key] = neat
    except _NotJsonError as fault:
        fault.path.append(key)
        raise
    return value if fresh is None else fresh


def _tidy_list(value: list[object], room: int) -> list[object]:
    if not room:
        raise _too_deep()
    fresh: list[object] | None = None
    place = 0
    try:
        for place, item in enumerate(value):
            if type(item) not in _LEAVES:
                neat = _tidy(item, room - 1)
                if neat is not item:
                    fresh = list(value) if fresh is None else fresh
                    fresh[place] = neat
    except _NotJsonError as fault:
        fault.path.append(place)
        raise
    return value if fresh is None else fresh
