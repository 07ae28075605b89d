"""Reads the result of an evictor: its messages, and the origin of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from warmset.errors import InvalidInputError
from warmset.testing.links import without_thinking


@dataclass(frozen=True, slots=True)
class Answer:
    """What an evictor returned.

    Args:
        messages: The messages.
        inserted: Positions of those that it inserted.
        covered: Positions in its input of the messages that they replace.
    """

    messages: list[Any]
    inserted: frozenset[int]
    covered: frozenset[int]


def read_answer(answer: Any) -> Answer:
    """Read an evictor's result, a list or an object with `messages`.

    Raises:
        InvalidInputError: It is neither, or its `inserted` cannot be read.
    """
    messages = messages_of(answer)
    try:
        stand_ins: list[Any] = list(getattr(answer, "inserted", ()))
        inserted = frozenset(int(one.index) for one in stand_ins)
        covered = frozenset(at for one in stand_ins if one.kind != "gap" for at in one.stands_for)
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            "evictor: what is inserted needs index, kind and stands_for, as `Inserted`"
        ) from error
    return Answer(messages, inserted, covered)


def messages_of(answer: Any) -> list[Any]:
    """Return the messages of an evictor's result, a list or an object with `messages`.

    Raises:
        InvalidInputError: It is neither.
    """
    messages: Any = getattr(answer, "messages", answer)
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInputError(f"evictor: expected it to return messages, found {answer!r:.80}")
    return list(messages)


def places_of(given: list[Any], made: list[Any], inserted: frozenset[int]) -> list[int | None]:
    """Find the origin of each message: by identity, by equality, or without its thinking."""
    by_identity = {id(message): at for at, message in enumerate(given)}
    places: list[int | None] = []
    last = -1
    for at, message in enumerate(made):
        found = by_identity.get(id(message))
        if found is None and at not in inserted:
            found = next((place for place, one in enumerate(given) if one == message), -1)
            if found < 0:
                found = _bare(given, message, last)
        last = last if found is None else max(last, found)
        places.append(found)
    return places


def _bare(given: list[Any], message: Any, after: int) -> int:
    """Find a message that stayed without its thinking, behind a position; -1 if there is none."""
    for place in range(after + 1, len(given)):
        one = given[place]
        if isinstance(one, dict) and isinstance(message, dict) and without_thinking(one) == message:
            return place
    return -1
