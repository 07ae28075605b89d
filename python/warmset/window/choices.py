"""The choices of an exchange's last window, which its next window reuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from warmset.pick import Picked
    from warmset.retrieve.hits import Found
    from warmset.state.entry import Entry

Unused: TypeAlias = Literal["complete", "no_match", "below_cut", "not_picked", "over_budget"]
"""Why a window leaves a part of its budget empty; see `Report.unused_why`."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A summary that a window shows after the task.

    Args:
        id: The id of its record; None while the record is in the spool.
        boundary: The number of messages at the front that are summarised, or stay unchanged.
        text: The text of the user message that shows it.
        tokens: Tokens of that text.
        ids: The ids of the messages that it replaces, in order.
    """

    id: int | None
    boundary: int
    text: str
    tokens: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The choice to send the whole list, which holds until the next request while the list fits.

    Args:
        key: The request and options for which the choice was made.
        memories: Ids of the memories, and turns of other conversations, that were quoted.
    """

    key: tuple[object, ...]
    memories: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Frozen:
    """Choices that hold until the next request, so that a tool loop keeps its prompt cache.

    Args:
        key: The request and options for which the choices were made.
        found: The hits of the search; None if another process made the choices.
        picked: The hits that were picked.
        quoted: Ids of the quoted units' first messages.
        lines: The messages in the scoped index, with their descriptions as they were then.
        since: Id of the oldest recent message; None if there was none.
        summary: The summary that was shown after the task; None if there was none.
        changed: The messages of which a value was changed later; see `Draft`.
        least: The score that a hit needed.
        unused: Why nothing more was quoted.
        memories: Ids of the memories, and turns of other conversations, that were quoted.
    """

    key: tuple[object, ...]
    found: Found | None
    picked: Picked
    quoted: tuple[int, ...]
    lines: tuple[Entry, ...]
    since: int | None
    summary: Settled | None
    changed: tuple[tuple[int, int], ...] = ()
    least: float | None = None
    unused: Unused | None = None
    memories: tuple[int, ...] = ()

    def picked_of(self, found: Found) -> Picked:
        """Return what was picked, for the report of another window; the picker is not asked."""
        again = self.found is None and self.picked.by == "score"
        ids = tuple(found.ids) if again else self.picked.ids
        return replace(self.picked, ids=ids, usage=None)
