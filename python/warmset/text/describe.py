"""The callables that replace the built-in description of a turn, and checks of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from warmset.errors import InvalidInputError
from warmset.options import SUMMARY_CHARS
from warmset.text.decisions import MAX_ENTITIES, summarise

SummaryLine: TypeAlias = Callable[[str], Any]
"""Returns the summary of a turn's text, or an awaitable of it."""

FindEntities: TypeAlias = Callable[[str], Any]
"""Returns the entities of a turn's text, or an awaitable of them."""

FindDecision: TypeAlias = Callable[[str], Any]
"""Returns whether a turn's text settles something, or an awaitable of that."""

PARTS: Final = ("summary_line", "entities", "decisions")
"""The parts of a description, by the names of the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Describers:
    """The callables of a memory; a part without one is described by the built-in rules.

    Args:
        summary_line: Returns a turn's summary.
        entities: Returns a turn's entities.
        decisions: Returns whether a turn settles something.

    Raises:
        InvalidInputError: One is not callable.
    """

    summary_line: SummaryLine | None = None
    entities: FindEntities | None = None
    decisions: FindDecision | None = None

    def __post_init__(self) -> None:
        for name, one in self.given().items():
            if not callable(one) or isinstance(one, type):
                raise InvalidInputError(f"{name}: expected a function of a text, found {one!r:.80}")

    def given(self) -> dict[str, Callable[[str], Any]]:
        """Return the callables that there are, by the name of the option."""
        every = {name: getattr(self, name) for name in PARTS}
        return {name: one for name, one in every.items() if one is not None}

    def names(self) -> dict[str, str]:
        """Return the name under which the results of each callable are stored."""
        return {name: name_of(one) for name, one in self.given().items()}


def name_of(one: object) -> str:
    """Return a callable's `fingerprint` if it has one, else its module and name."""
    given = getattr(one, "fingerprint", None)
    if isinstance(given, str) and given:
        return given
    named: Any = one if hasattr(one, "__qualname__") else type(one)
    return f"{named.__module__}.{named.__qualname__}"


def checked(part: str, made: object) -> Any:
    """Return what a callable returned, as it is stored.

    Args:
        part: The name of the option.
        made: A text for "summary_line", texts for "entities", a bool for "decisions".

    Raises:
        TypeError: It is of another type.
        ValueError: A summary is blank.
    """
    if part == "decisions":
        if not isinstance(made, bool):
            raise TypeError(f"decisions: expected a bool, found {type(made).__name__}")
        return made
    if part == "entities":
        return _names(made)
    if not isinstance(made, str):
        raise TypeError(f"summary_line: expected a text, found {type(made).__name__}")
    line = summarise(made)
    if not line:
        raise ValueError(f"summary_line: expected up to {SUMMARY_CHARS} characters, found none")
    return line


def _names(made: object) -> list[str]:
    """Return the first distinct entities, each in one line."""
    if isinstance(made, (str, bytes)) or not isinstance(made, Iterable):
        raise TypeError(f"entities: expected texts, found {type(made).__name__}")
    found: dict[str, None] = {}
    for one in made:
        if not isinstance(one, str):
            raise TypeError(f"entities: expected texts, found {type(one).__name__} among them")
        if line := summarise(one):
            found[line] = None
        if len(found) == MAX_ENTITIES:
            break
    return list(found)
