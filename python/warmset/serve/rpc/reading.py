"""Reads one line of JSON: its value, and the flaw for which it must be rejected.

A line that is not JSON has no value. JSON with a duplicate key, with too many levels of nesting, or
with a number outside the range of a double has a value and a flaw, so that the answer can have the
request's id.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn

DEEPEST: Final = 160
"""The most levels of nesting in a line: a message may have 128, and the request adds a few."""

_BOM: Final = "\ufeff"
_UNSURE: Final = object()
"""Stands for a value that is ambiguous."""


class UnreadableError(Exception):
    """A line is not JSON; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed line.

    Args:
        value: Its value.
        flaw: Why the value must be rejected; None if it is valid.
    """

    value: Any
    flaw: str | None = None


class _Flaws:
    """Records flaws that Python's JSON decoder accepts."""

    def __init__(self) -> None:
        self.found: str | None = None

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    made[key] = _UNSURE
                    self._note(f"the key {key!a:.80} stands twice in one object; send it once")
                seen.add(key)
        return made

    def number(self, text: str) -> object:
        value = float(text)
        if math.isfinite(value):
            return value
        self._note(f"the number {text:.40} is beyond what a double holds; send it as a text")
        return _UNSURE

    def _note(self, why: str) -> None:
        self.found = self.found or why


def read(line: bytes, *, deepest: int = DEEPEST) -> Parsed:
    """Read a line.

    Args:
        line: Its bytes, without its end.
        deepest: Levels of nesting that it may have.

    Raises:
        UnreadableError: It is not JSON in UTF-8, or nests too deeply to be parsed.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"byte {error.start} of the line is not UTF-8; send UTF-8, or ASCII with \\u escapes"
        ) from None
    flaws = _Flaws()
    try:
        value: Any = json.loads(
            text.removeprefix(_BOM),
            object_pairs_hook=flaws.pairs,
            parse_float=flaws.number,
            parse_constant=_refuse,
        )
    except json.JSONDecodeError as error:
        raise UnreadableError(
            f"column {error.colno}: {error.msg}; send one JSON value a line"
        ) from None
    except RecursionError:
        raise UnreadableError(_too_deep(deepest)) from None
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    flaw = flaws.found
    if flaw is None and _is_deeper(value, deepest):
        flaw = _too_deep(deepest)
    return Parsed(value, flaw)


def _is_deeper(value: Any, deepest: int) -> bool:
    """Return whether a value has more levels, without recursion, which could overflow."""
    level: list[Any] = [value]
    for _ in range(deepest):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _too_deep(deepest: int) -> str:
    return f"it is nested more than {deepest} levels deep; send it flatter"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; send null or a text")
