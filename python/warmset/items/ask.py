"""What items are asked for, every condition checked, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from warmset._support.names import fault_of
from warmset.errors import InvalidInputError
from warmset.options import Weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.embed import Vectors

NO_NAME: Final = ""
"""The label of what has no name in a column."""

COLUMNS: Final = (
    "type",
    "conversation",
    "session",
    "module",
    "pipeline",
    "sections",
    "keys",
    "entities",
)
"""Columns with the names that items are found by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What items are asked for: every condition that is given must be met.

    Args:
        k: The most items.
        types: Their types; None for all.
        conversation: Whose they are, or nobody's; None for all.
        session: The session that they are of; None for all.
        labels: For other columns the names of which an item must have one.
        also: The same once more, so that two conditions can concern one column.
        but: For columns the names of which an item must have none.
        since: Their first time, in milliseconds since 1970 UTC; None for the beginning.
        before: The time that they are before, the same way; None for the end.
        archived: Whether archived ones count.
        superseded: Whether those count that newer items replace.
        floor: The least similarity with the question, which must be more than 0; None for all,
            of which the newest are taken.
    """

    k: int
    types: frozenset[str] | None = None
    conversation: str | None = None
    session: str | None = None
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    also: Mapping[str, frozenset[str]] = field(default_factory=dict)
    but: Mapping[str, frozenset[str]] = field(default_factory=dict)
    since: int | None = None
    before: int | None = None
    archived: bool = False
    superseded: bool = False
    floor: float | None = None

    def spans(self, at: int) -> bool:
        """Return whether a time in milliseconds since 1970 UTC is within the span."""
        return (self.since is None or at >= self.since) and (
            self.before is None or at < self.before
        )

    def columns(self) -> dict[str, frozenset[str]]:
        """Return the names of which an item must have one, by column."""
        wanted = dict(self.labels)
        if self.types is not None:
            wanted["type"] = self.types
        if self.session is not None:
            wanted["session"] = frozenset((self.session,))
        if self.conversation is not None:
            wanted["conversation"] = frozenset((self.conversation, NO_NAME))
        return wanted

    def row(
        self,
    ) -> tuple[
        list[tuple[str, list[str], bool]],
        int | None,
        int | None,
        bool,
        bool,
        float | None,
        int,
    ]:
        """Return the question as the core takes it."""
        wanted = [(column, _known(names), True) for column, names in self.columns().items()]
        wanted += [(column, _known(names), True) for column, names in self.also.items()]
        wanted += [(column, _known(names), False) for column, names in self.but.items()]
        return (
            wanted,
            self.since,
            self.before,
            self.archived,
            self.superseded,
            self.floor,
            self.k,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What items are compared with, and how they age.

    Args:
        text: The question; None for no comparison.
        vector: Its vector, shape (dim,); None to compare words alone.
        weights: The weight of vectors and of words; the others are not used.
        now: The time that ages are counted up to in hours, in microseconds since 1970 UTC.
        turns: The times of messages, ascending, the same way: an age is the number of later ones.
            Without both, nothing ages.
    """

    text: str | None = None
    vector: Vectors | None = None
    weights: Weights = field(default_factory=Weights)
    now: int | None = None
    turns: Sequence[int] | None = None


class Hit(NamedTuple):
    """An item that was found.

    Attributes:
        id: Its id.
        score: The weighted sum of what vectors and words say of it and the question.
        similarity: The weighted mean of the same, 0 to 1; of words alone without a vector.
        relevance: The similarity, 1 without a question, times what its age leaves of it.
    """

    id: int
    score: float
    similarity: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found for one ask.

    Args:
        matched: How many items meet all conditions but the similarity.
        found: What was taken, the most relevant first, ties by id.
        superseded: Ids of the newest of those that only a newer item keeps out.
        lacking: By column, how many items would count if they had any name in it.
    """

    matched: int
    found: Sequence[Hit]
    superseded: Sequence[int]
    lacking: Mapping[str, int]


def _known(names: Iterable[str]) -> list[str]:
    """Return the names that an item may have."""
    return sorted(name for name in names if name == NO_NAME or fault_of(name) is None)


def names_of(field_name: str, given: object) -> frozenset[str]:
    """Return the names that an argument has; a text is one name.

    Raises:
        InvalidInputError: These are no names.
    """
    listed = [given] if isinstance(given, str) else given
    if isinstance(listed, Iterable) and not isinstance(listed, (bytes, bytearray)):
        names = list(listed)
        if all(isinstance(name, str) and name for name in names):
            return frozenset(names)
    raise InvalidInputError(f"{field_name}: expected a name or names, found {given!r:.80}")
