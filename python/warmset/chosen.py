"""What was chosen for the last window and the last cut, so that the next may keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warmset.hits import Found
    from warmset.pick import Picked


@dataclass(frozen=True, slots=True)
class Settled:
    """A summary that a window shows behind the task.

    Args:
        id: Its record; None where that lies in the spool.
        mark: Messages before it are summarised, or stay as they are.
        text: What the user's message says that shows it.
        tokens: Tokens of that text.
        ids: The messages that it stands for, in order.
    """

    id: int | None
    mark: int
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


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a conversation was cut last, so that the kept prefix moves seldom.

    Args:
        key: What it was cut for.
        start: The first unit that stays although it need not; None if a branch made it void.
        held: The earlier units that stayed, ascending.
        moves: How often the cut moved.
        sent: Positions on the path of what was kept last, as the result had them.
        tokens: What those messages cost.
        brief: Whether the task is shown in one line.
    """

    key: tuple[object, ...]
    start: int | None
    held: tuple[int, ...]
    moves: int
    sent: NDArray[np.int64]
    tokens: int
    brief: bool
