"""What was chosen for the last window of an exchange, so that the next one may keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.pick import Picked
    from warmset.retrieve.hits import Found


@dataclass(frozen=True, slots=True)
class Settled:
    """A summary that a window shows behind the task.

    Args:
        id: Its record; None where that lies in the spool.
        boundary: Messages before it are summarised, or stay as they are.
        text: What the user's message says that shows it.
        tokens: Tokens of that text.
        ids: The messages that it stands for, in order.
    """

    id: int | None
    boundary: int
    text: str
    tokens: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frozen:
    """Choices that hold until the next request, so that a tool loop keeps its prompt cache.

    Args:
        key: What the choices were made for.
        found: What the search found.
        picked: What was chosen of it.
        quoted: Ids of the quoted units' first messages.
        lines: Ids of the messages in the scoped index.
        since: Id of the oldest recent message; None if there was none.
        summary: The summary that stood behind the task; None if there was none.
    """

    key: tuple[object, ...]
    found: Found
    picked: Picked
    quoted: tuple[int, ...]
    lines: tuple[int, ...]
    since: int | None
    summary: Settled | None
