"""The JSON objects of a body, and of one of which only the beginning is there."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from typing import Any, Final

_GAPS: Final = " \t\r\n,"


def an_object(text: str) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        TypeError: It is another value.
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"expected an object, found a {type(found).__name__}")
    return found


def objects(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Read a body: one JSON object, or an array of objects.

    Args:
        data: The body, or its beginning.

    Returns:
        The objects, and whether they are those of an array. Of an array that breaks off, those that
        are whole.

    Raises:
        TypeError: It is another value.
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    text = getincrementaldecoder("utf-8-sig")().decode(data).lstrip()
    if not text.startswith("["):
        return [an_object(text)], False
    found: list[dict[str, Any]] = []
    decoder, at = json.JSONDecoder(), _behind_gaps(text, 1)
    while text.startswith("{", at):
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        found.append(value)
        at = _behind_gaps(text, end)
    return found, True


def _behind_gaps(text: str, at: int) -> int:
    while at < len(text) and text[at] in _GAPS:
        at += 1
    return at
