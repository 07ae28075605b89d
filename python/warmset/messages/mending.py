"""The words that every dialect's mender shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from warmset.messages.model import Message

Unanswered: TypeAlias = Literal["stub", "drop"]
"""What becomes of calls that nobody answered."""

NO_RESULT: Final = "(no result: the call was interrupted)"
"""What a stub says."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a list.

    Args:
        rule: The rule that the list broke, as C2.
        index: Position, in the list that was given, of the message that it is about.
        what: What was done.
    """

    rule: str
    index: int
    what: str


Mender: TypeAlias = Callable[[list[Message], Unanswered], tuple[list[Message], list[Change]]]
"""Mend a list of well-formed messages of one dialect: the messages, and what was changed."""
