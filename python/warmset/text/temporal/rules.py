"""The rules of phrases: a pattern, and the days that its match means on a given day."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import date

    from warmset.text.temporal.spans import Span


@dataclass(frozen=True, slots=True)
class Said:
    """When and in what a phrase was said.

    Args:
        day: The day.
        past: Whether a part of the year without its year is the last one.
        text: The text in which it stands, as it was written.
    """

    day: date
    past: bool
    text: str


Resolve: TypeAlias = Callable[[re.Match[str], Said], "Span | None"]


@dataclass(frozen=True)
class Rule:
    """A phrase of time.

    Args:
        needs: Sets of words, of each of which a text has one if the phrase is in it, so that most
            rules need not be tried; "#year" stands for a year, "/" for a date with strokes.
        source: A regular expression that finds it in lower case; its group "core", if there is one,
            is the phrase.
        resolve: Returns the days that a match means; None if they are not known.
    """

    needs: tuple[frozenset[str], ...]
    source: str
    resolve: Resolve

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a text first has the words that the rule needs."""
        return re.compile(self.source)


def rule(needs: Sequence[Iterable[str]], pattern: str, resolve: Resolve) -> Rule:
    """Make a rule; its pattern stands on word boundaries."""
    sets = tuple(frozenset(words) for words in needs)
    return Rule(sets, rf"(?<![\w/-])(?:{pattern})(?![\w/])", resolve)
