"""What a consolidation may archive and merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least
from warmset.items.ask import names_of
from warmset.text.durations import duration

Used: TypeAlias = Mapping[str, datetime] | Callable[[], Mapping[str, datetime]]
"""When items were last used, by their names, or a function that returns it."""

MOST: Final = 1_000
"""The most changes of a plan, if the caller does not say."""

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPolicy:
    """What may be archived and merged. What an item is needed for always keeps it.

    An item is archived for its age only if all of this holds: it is as old as `archive_after`, has
    not been used within `unused_for`, has no reward that keeps it, and no item that stays depends
    on it or is derived from it. An item that is shown in the place of another one stays, too.

    Args:
        archive_after: The age from which an item may be archived: a timedelta, or a text such as
            "90d" or "12h"; None archives nothing for its age.
        unused_for: How long ago the last use of an item must be, the same way; None if any use
            keeps it.
        least_reward: The least reward that keeps an item, 0 to 1; None if any reward does, for what
            has one was used.
        similarity: The least cosine of two items that say the same, over 0 to 1; None merges
            nothing. Items without vectors are compared by their terms.
        memory_types: Only items of these types; None for all.
        keep: Names of items that are neither archived nor merged into others.
        limit: The most changes of a plan.

    Raises:
        InvalidInputError: A field has a wrong value; the error names it.
    """

    archive_after: timedelta | str | None = None
    unused_for: timedelta | str | None = None
    least_reward: float | None = None
    similarity: float | None = 0.95
    memory_types: str | Iterable[str] | None = None
    keep: Iterable[str] = ()
    limit: int = MOST

    def __post_init__(self) -> None:
        for field in ("archive_after", "unused_for"):
            object.__setattr__(self, field, _span(field, getattr(self, field)))
        reward, similarity = self.least_reward, self.similarity
        if reward is not None and (not is_number(reward) or not 0 <= reward <= 1):
            raise InvalidInputError(f"least_reward: expected 0 to 1, found {reward!r:.80}")
        if similarity is not None and (not is_number(similarity) or not 0 < similarity <= 1):
            raise InvalidInputError(
                f"similarity: expected a number over 0 to 1, found {similarity!r:.80}"
            )
        if self.memory_types is not None:
            types = names_of("memory_types", self.memory_types)
            if "conversation" in types:
                raise InvalidInputError(
                    'memory_types: messages ("conversation") are never archived or merged'
                )
            object.__setattr__(self, "memory_types", types)
        object.__setattr__(self, "keep", names_of("keep", self.keep))
        at_least("limit", self.limit, 1)

    def reaches(self, memory_type: str) -> bool:
        """Return whether items of a type are looked at."""
        return self.memory_types is None or memory_type in frozenset(self.memory_types)

    def microseconds(self, field: str) -> int | None:
        """Return a span in microseconds; None if it is not given."""
        span = getattr(self, field)
        return span // _MICROSECOND if isinstance(span, timedelta) else None


def _span(field: str, given: object) -> timedelta | None:
    if given is None:
        return None
    span = duration(given) if isinstance(given, str) else given
    if not isinstance(span, timedelta) or span < timedelta(0):
        raise InvalidInputError(
            f'{field}: expected a timedelta, or a time as "90d" or "12h", found {given!r:.80}'
        )
    return span


def uses_of(used: Used | None) -> dict[str, int]:
    """Return when items were last used, in microseconds since 1970 UTC, by their names.

    Raises:
        InvalidInputError: These are no names with times.
    """
    given = used() if callable(used) else used
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"used: expected times by names, found {given!r:.80}")
    return {name: micros("used", at) for name, at in given.items()}


def micros(field: str, at: object) -> int:
    """Return a datetime in microseconds since 1970 UTC; without a time zone it is UTC.

    Raises:
        InvalidInputError: It is no datetime.
    """
    if not isinstance(at, datetime):
        raise InvalidInputError(f"{field}: expected a datetime, found {at!r:.80}")
    zoned = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return (zoned - _START) // _MICROSECOND
