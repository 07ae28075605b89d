"""What items are asked for: every condition of a query, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_NAME = ""
"""The label of what has no name in a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question for items.

    Args:
        text: What they should answer; None for the newest.
        k: The most items.
        types: Their types; None for all.
        conversation: Whose they are, or nobody's; None for all.
        session: The session that they are of; None for all.
        labels: For other columns the names of which an item must have one.
        since: Their first time, in milliseconds since 1970 UTC; None for the beginning.
        before: The time that they are before; None for the end.
        archived: Whether archived ones count.
        superseded: Whether those count that newer items replace.
    """

    text: str | None = None
    k: int
    types: frozenset[str] | None = None
    conversation: str | None = None
    session: str | None = None
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    since: int | None = None
    before: int | None = None
    archived: bool = False
    superseded: bool = False

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
