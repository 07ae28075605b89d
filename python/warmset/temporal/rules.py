"""What a rule of a phrase is: a pattern, and what its match means on a given day."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import date

    from warmset.temporal.spans import Span


@dataclass(frozen=True, slots=True)
class Said:
    """When a phrase was said.

    Args:
        day: The day.
        past: Whether a part of the year without its year is the last one.
    """

    day: date
    past: bool


Resolve: TypeAlias = Callable[[re.Match[str], Said], "Span | None"]
Rule: TypeAlias = tuple[re.Pattern[str], Resolve]


def rule(pattern: str, resolve: Resolve) -> Rule:
    """Make a rule; the pattern stands on word boundaries, in lower case."""
    return re.compile(rf"(?<![\w/-])(?:{pattern})(?![\w/])"), resolve
