"""Where messages left, neighbours may have one role: a stand-in between them keeps a list valid.

Anthropic's Bedrock and many proxies demand that roles alternate, and a Gemini content with calls
must follow the user's. Merging the neighbours would change messages that stayed, and with them the
prefix that a provider has cached; so a short message of the other role stands in the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.messages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warmset.evict.view import StandInKind
    from warmset.messages import Dialect, Facts, Message

GapRole: TypeAlias = Literal["user", "assistant"]

GAP: Final = "(Earlier messages were left out.)"


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


def gaps(slots: Sequence[Slot], dialect: Dialect) -> Iterator[tuple[int, GapRole]]:
    """Find where a stand-in has to be: before which slot, and whose it must be.

    Neighbours that were neighbours before are left as they are: their provider takes them.
    """
    if dialect not in ("anthropic", "gemini"):
        return
    for at in range(1, len(slots)):
        before, after = slots[at - 1], slots[at]
        if not _were_neighbours(before, after):
            role = gap_role(dialect, before.facts.role, after.facts.role)
            if role is not None:
                yield at, role


def gap_role(dialect: Dialect, before: str, after: str) -> GapRole | None:
    """Tell whose a stand-in between two messages must be; None where none is needed.

    Args:
        dialect: How the messages are written.
        before: The role of the first, as in `Facts`.
        after: The role of the second.
    """
    one, other = before == "assistant", after == "assistant"
    if one and other and dialect in ("anthropic", "gemini"):
        return "user"
    return "assistant" if dialect == "anthropic" and not one and not other else None


def _were_neighbours(before: Slot, after: Slot) -> bool:
    if "summary" in (before.kind, after.kind):
        return False
    return before.origins[-1] + 1 == after.origins[0]


def gap_message(dialect: Dialect, role: GapRole) -> Message:
    """Make the message that stands in a gap."""
    return LANGUAGES[dialect].grammar.say(role, GAP)
