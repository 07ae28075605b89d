"""The fields of a JSON object as they stand in its text, so that one changes and no other byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

Read: TypeAlias = "Callable[[str, str, int], tuple[Any, int] | None]"

_SPACE: Final = " \t\n\r"
_DECODER: Final = json.JSONDecoder()


class Fields:
    """A JSON object with the places of its fields.

    Args:
        body: The object, UTF-8.
        read: Reads the value of a field from the text and from where it begins, and returns it with
            where it ends; None where it does not.

    Raises:
        InvalidInputError: It is no JSON object, or has a field twice.
    """

    def __init__(self, body: bytes, read: Read | None = None) -> None:
        try:
            self._text = body.decode()
            self.values, self._spans, self._end = _read(self._text, read)
        except (ValueError, RecursionError, IndexError) as error:
            raise InvalidInputError(
                f"body: expected a JSON object ({type(error).__name__})"
            ) from None

    def written(self, changed: dict[str, Any]) -> bytes:
        """Return the object with other values of some fields; new ones stand at the end.

        Args:
            changed: The values.
        """
        parts: list[str] = []
        at = 0
        for name, (start, end) in self._spans.items():  # in the order of the text
            if name in changed:
                parts += (self._text[at:start], _text_of(changed[name]))
                at = end
        fresh = [name for name in changed if name not in self._spans]
        parts.append(self._text[at : self._end])
        for number, name in enumerate(fresh):
            comma = "," if self._spans or number else ""
            parts.append(f"{comma}{_text_of(name)}:{_text_of(changed[name])}")
        parts.append(self._text[self._end :])
        return "".join(parts).encode("utf-8", "surrogatepass")


def _text_of(value: Any) -> str:
    # Half characters must be escaped, or they are no UTF-8.
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def _read(text: str, read: Read | None) -> tuple[dict[str, Any], dict[str, tuple[int, int]], int]:
    """Return the values of an object, their places, and where its last brace stands."""
    at = _past(text, 0)
    if text[at] != "{":
        raise ValueError
    values: dict[str, Any] = {}
    spans: dict[str, tuple[int, int]] = {}
    at = _past(text, at + 1)
    if text[at] != "}":
        while True:
            if text[at] != '"':
                raise ValueError
            name, at = _DECODER.raw_decode(text, at)
            at = _past(text, at)
            if text[at] != ":" or name in spans:
                raise ValueError
            start = _past(text, at + 1)
            found = None if read is None else read(name, text, start)
            values[name], at = _DECODER.raw_decode(text, start) if found is None else found
            spans[name] = start, at
            at = _past(text, at)
            if text[at] == "}":
                break
            if text[at] != ",":
                raise ValueError
            at = _past(text, at + 1)
    if _past(text, at + 1) != len(text):
        raise ValueError
    return values, spans, at


def _past(text: str, at: int) -> int:
    """Return the place of the next sign that is no white space."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
