"""How much each signal counts, and from which cosine on two turns say the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, TypeGuard

from warmset.errors import InvalidInputError

TWIN_FLOOR: Final = 0.75
"""The least cosine at which two turns can be held to say the same."""

ROLES: Final = ("user", "assistant", "tool", "other", "system", "developer")
"""Roles by their numbers in the core; the last two are kept whatever they are worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactWeights:
    """What `compact_context` scores a turn by.

    ``role x (recency·r + similarity·s + coverage·(1 - c))``

    Args:
        recency: Of how new a turn is: 0.1 for the oldest to 1 for the newest.
        similarity: Of its cosine with the query.
        coverage: Of how little of it is known elsewhere.
        user: What a user's turn is worth, beside others.
        assistant: An assistant's.
        tool: A tool result's.
        other: Any other role's.
        same: The cosine from which on a later turn says the same as an earlier one, 0.75 to 1.
        fact_check: Whether a turn counts as covered only if all its numbers, paths and names are in
            what covers it.

    Raises:
        InvalidInputError: A number is negative or not finite, or `same` is out of its range.
    """

    recency: float = 0.3
    similarity: float = 0.4
    coverage: float = 0.3
    user: float = 1.0
    assistant: float = 0.8
    tool: float = 0.5
    other: float = 0.6
    same: float = 0.8
    fact_check: bool = True

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "fact_check":
                if not isinstance(value, bool):
                    raise InvalidInputError(f"fact_check: expected a bool, found {value!r}")
            elif not is_number(value) or value < 0:
                raise InvalidInputError(
                    f"{one.name}: expected a finite number of at least 0, found {value!r}"
                )
        if not TWIN_FLOOR <= self.same <= 1:
            raise InvalidInputError(f"same: expected {TWIN_FLOOR} to 1, found {self.same!r}")

    @property
    def factors(self) -> tuple[float, ...]:
        """What each role is worth, by its number in `ROLES`."""
        return (self.user, self.assistant, self.tool, self.other, 1.0, 1.0)

    @property
    def signals(self) -> tuple[float, float, float]:
        """The weights of recency, similarity and coverage."""
        return (self.recency, self.similarity, self.coverage)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
