"""What happened to a log after a position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset._core import Change


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a log, and how far that goes.

    Args:
        changes: The changes in the order in which they were committed; empty at the end of the log.
        position: What to pass to `Log.follow` for what comes next.
    """

    changes: list[Change]
    position: bytes
