"""The weights of the signals, and the cosine at which two turns have the same content."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, TypeGuard

from warmset.errors import InvalidInputError

TWIN_FLOOR: Final = 0.75
"""The least permitted value of `CompactWeights.same`."""

ROLES: Final = ("user", "assistant", "tool", "other", "system", "developer")
"""Roles by their numbers in the core; the last two are always kept."""

SYSTEM: Final = ROLES.index("system")
"""The number of the first role that is always kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactWeights:
    """The weights by which `compact_context` scores a turn.

    ``role x (recency·r + similarity·s + coverage·(1 - c))``

    Args:
        recency: The weight of recency: 0.1 for the oldest turn to 1 for the newest.
        similarity: The weight of the cosine with the query.
        coverage: The weight of the part that is not known elsewhere.
        user: The factor for a user's turn.
        assistant: The factor for an assistant's turn.
        tool: The factor for a tool result.
        other: The factor for any other role.
        same: The cosine at which a later turn has the same content as an earlier one, 0.75 to 1.
        fact_check: Whether a turn counts as covered only if all its numbers, paths and names are in
            the texts that cover it.

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
        """The factor of each role, by its number in `ROLES`."""
        return (self.user, self.assistant, self.tool, self.other, 1.0, 1.0)

    @property
    def signals(self) -> tuple[float, float, float]:
        """The weights of recency, similarity and coverage."""
        return (self.recency, self.similarity, self.coverage)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number, which an integer that no float can be is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
