"""Types and texts that the repairs of all dialects share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from warmset.messages.model import Message, Request

Unanswered: TypeAlias = Literal["stub", "drop"]
"""How to treat calls without a result."""

NO_RESULT: Final = "(no result: the call was interrupted)"
"""The text of a placeholder result."""


CONTINUED: Final = "(continued)"
"""The text of a message of which nothing is left, or that a list needs at its front."""

CONTINUE: Final = "(continue)"
"""What the user says at the end of a list that must end with the user."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a list.

    Args:
        rule: The rule that the list broke, as C2.
        index: The position of the affected message in the input list.
        what: What was done.
    """

    rule: str
    index: int
    what: str


Mender: TypeAlias = Callable[
    [list[Message], Unanswered, Request], tuple[list[Message], list[Change]]
]
"""Repairs a list of well-formed messages of one dialect; returns the messages and the changes."""
