"""Where a conversation was cut last, so that the next cut may stand there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        pins: Positions on the path of messages that had to stay, ascending.
    """

    key: tuple[object, ...]
    start: int | None
    held: tuple[int, ...]
    moves: int
    sent: NDArray[np.int64]
    tokens: int
    brief: bool
    pins: tuple[int, ...] = ()
