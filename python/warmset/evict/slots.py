"""The slots of a working copy, and its parameters."""

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
"""The text of the filler message between two neighbours of the same role."""


def stands_in(fact: Facts) -> bool:
    """Return whether a message is a summary or a filler message, and so not a request."""
    return fact.text.startswith(HEADING) or fact.text == GAP


def read(message: Message, dialect: Dialect) -> Facts:
    """Return the facts of a well-formed message; summaries and filler messages are not requests."""
    fact = facts(message, dialect)
    return replace(fact, request=False) if fact.request and stands_in(fact) else fact


@dataclass(frozen=True, slots=True)
class Slot:
    """A message of the working copy.

    Args:
        message: The message.
        facts: Its facts.
        cost: Its tokens.
        unit: The number of its unit.
        origins: Its position in the caller's list, or those of the messages that it replaces.
        kind: The kind of replacement, if it replaces others.
        handle: The handle of the original, if it replaces one.
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
    """The parameters that do not change while a list is edited; see `View`."""

    overhead: int
    budget: int
    watermark: float
    dialect: Dialect
    cost_of: Callable[[Message], int]
    store: OffloadStore | None
    pinned: frozenset[int]
