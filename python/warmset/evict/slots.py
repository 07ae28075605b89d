"""What a list in work is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.messages import facts
from warmset.summarize import HEADING

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.view import StandInKind
    from warmset.messages import Dialect, Facts, Message


GAP: Final = "(Earlier messages were left out.)"
"""What a stand-in between two neighbours of one role says."""


def stands_in(fact: Facts) -> bool:
    """Tell whether a message is a summary, or stands in a gap: nobody asks anything in it."""
    return fact.text.startswith(HEADING) or fact.text == GAP


def read(message: Message, dialect: Dialect) -> Facts:
    """Read the facts of a well-formed message; a user's message that is a stand-in asks nothing."""
    fact = facts(message, dialect)
    return replace(fact, request=False) if fact.request and stands_in(fact) else fact


@dataclass(frozen=True, slots=True)
class Slot:
    """One message of the list in work.

    Args:
        message: The message.
        facts: What is known of it.
        cost: What it costs.
        unit: Number of the unit that it is in.
        origins: Positions in the caller's list that it is or stands for.
        kind: What it is, if it stands for others.
        handle: Where the original can be read, if it stands for others.
    """

    message: Message
    facts: Facts
    cost: int
    unit: int
    origins: tuple[int, ...]
    kind: StandInKind | None = None
    handle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What does not change while a list is worked on; see `View`."""

    overhead: int
    budget: int
    watermark: float
    dialect: Dialect
    cost_of: Callable[[Message], int]
    store: OffloadStore | None
    pinned: frozenset[int]
