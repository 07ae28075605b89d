"""How much of a result fits: tokens that are taken up, and parts of long texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warmset._core import count_text
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RESERVE: Final = 160
"""Tokens of a limit that are left for what stands around the elements of a result."""

_SHORT: Final = 32
"""The most characters of a text that is cut."""

_WIDEST: Final = 64
"""The most characters of one token, for the search of a part."""


def tokens_of(text: str) -> int:
    """Return the tokens of a text, by the vocabulary o200k_base."""
    return count_text(text)[0]


class Room:
    """The tokens that are left for a result.

    Args:
        limit: The most tokens; None for no limit.
    """

    def __init__(self, limit: int | None) -> None:
        self.left = None if limit is None else limit - RESERVE

    def take(self, *ways: str) -> bool:
        """Take the tokens of an element up, if there is room for it.

        Args:
            ways: The element in each way in which it is written; the longest one counts.
        """
        if self.left is None:
            return True
        cost = max(map(tokens_of, ways)) + 1
        if cost > self.left:
            return False
        self.left -= cost
        return True


def shortened(element: Mapping[str, Any]) -> dict[str, Any]:
    """Return an element with its long texts cut and without its URI, where nothing else fits."""
    return {
        name: f"{one[:_SHORT]}…" if isinstance(one, str) and len(one) > _SHORT else one
        for name, one in element.items()
        if name != "uri"
    }


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text.

    Args:
        text: The part.
        begin: The character at which it begins.
        next: The character at which the rest begins; None if there is none.
    """

    text: str
    begin: int
    next: int | None


def part_of(text: str, begin: int, tokens: int | None) -> Part:
    """Return as much of a text as fits, from a character on; at least one character.

    Args:
        text: The text.
        begin: The first character.
        tokens: The most tokens; None for no limit.

    Raises:
        InvalidInputError: The text ends before that character.
    """
    last = max(0, len(text) - 1)
    if not 0 <= begin <= last:
        raise InvalidInputError(f"from_character: expected 0 to {last}, where the text ends")
    rest = text[begin:]
    if tokens is None or tokens_of(rest[: _WIDEST * tokens + 1]) <= tokens:
        return Part(rest, begin, None)
    low, high = 1, min(len(rest), _WIDEST * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(rest[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return Part(rest[:low], begin, begin + low if low < len(rest) else None)


def integer(given: object, name: str, least: int, most: int) -> int:
    """Return a number that was given as an argument; some providers send all numbers as floats.

    Raises:
        InvalidInputError: It is none, or out of its range.
    """
    made = int(given) if isinstance(given, float) and given.is_integer() else given
    if isinstance(made, bool) or not isinstance(made, int) or not least <= made <= most:
        raise InvalidInputError(f"{name}: expected a whole number from {least} to {most}")
    return made


def one_of(given: object, name: str, known: Iterable[str]) -> str:
    """Return a word that was given as an argument.

    Raises:
        InvalidInputError: It is none of those that there are.
    """
    words = list(known)
    if not isinstance(given, str) or given not in words:
        raise InvalidInputError(f"{name}: expected one of {', '.join(words)}")
    return given


def words(given: object, name: str, most: int) -> str:
    """Return a text that was given as an argument.

    Raises:
        InvalidInputError: It is no text, blank, or too long.
    """
    if not isinstance(given, str) or not given.strip():
        raise InvalidInputError(f"{name}: expected a text that is not blank")
    if len(given) > most:
        raise InvalidInputError(f"{name}: at most {most} characters, found {len(given)}; send less")
    return given.encode("utf-8", "replace").decode()
