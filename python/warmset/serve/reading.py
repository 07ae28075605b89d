"""One line of JSON: its value, or why it is none; and what a reader must not pass over in silence.

A line that is no JSON has no value. One that is JSON all the same but says something twice, nests
too deeply or has a number that no double can hold has a value and a flaw, so that whoever sent it
can be answered by its id.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn

DEEPEST: Final = 160
"""Levels of nesting that a line may have: a message may have 128, and stands in a few others."""

_BOM: Final = "\ufeff"
_UNSURE: Final = object()
"""Stands for a value of which nobody knows what was meant."""


class UnreadableError(Exception):
    """A line is no JSON; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a line says.

    Args:
        value: Its value.
        flaw: Why it is not to be used; None if it may be.
    """

    value: Any
    flaw: str | None = None


class _Flaws:
    """Takes note of what a decoder of JSON lets pass."""

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
        UnreadableError: It is no JSON in UTF-8, or nests too deeply to be read at all.
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
    """Tell whether a value has more levels; level by level, so that no stack is needed."""
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
