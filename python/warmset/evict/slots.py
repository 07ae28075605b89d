"""The slots of a working copy, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from warmset.messages import dumps, facts
from warmset.summarize import HEADING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from warmset.evict.blob_store import OffloadStore
    from warmset.evict.view import StandInKind
    from warmset.messages import Dialect, Facts, Message


GAP: Final = "(Earlier messages were left out.)"
"""The text of the filler message between two neighbours of the same role."""


COLLAPSED: Final = "(Earlier tool calls, one line each)"
"""The first line of a message that has tool calls and their results, shortened."""


def fills_gap(fact: Facts) -> bool:
    """Return whether a message is a filler message."""
    return fact.text == GAP


def is_collapsed(fact: Facts) -> bool:
    """Return whether a message has collapsed tool calls."""
    return fact.role == "user" and fact.text.startswith(f"{COLLAPSED}\n")


def stands_in(fact: Facts) -> bool:
    """Return whether a message is a summary or a filler message, and so not a request."""
    return fact.text.startswith(HEADING) or fills_gap(fact)


def read(message: Message, dialect: Dialect) -> Facts:
    """Return the facts of a well-formed message; a message that replaces others is no request."""
    fact = facts(message, dialect)
    replaces = fact.request and (stands_in(fact) or is_collapsed(fact))
    return replace(fact, request=False) if replaces else fact


def written(messages: Iterable[Message]) -> str:
    """Return messages as they are stored when they leave: one JSON text a line."""
    return "\n".join(dumps(message).decode("utf-8", "surrogatepass") for message in messages)


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
    continues: bool = False
