"""Where messages left, neighbours may have one role: a stand-in between them keeps a list valid.

Anthropic's Bedrock and many proxies demand that roles alternate, and a Gemini content with calls
must follow the user's. Merging the neighbours would change messages that stayed, and with them the
prefix that a provider has cached; so a short message of the other role stands in the gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warmset.evict.slots import GAP
from warmset.messages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from warmset.evict.slots import Slot
    from warmset.messages import Dialect, Message

GapRole: TypeAlias = Literal["user", "assistant"]

ALTERNATING: Final = frozenset({"anthropic", "gemini"})
"""Dialects in which two neighbours of one role can be refused."""


def gaps(slots: Sequence[Slot], dialect: Dialect) -> Iterator[tuple[int, GapRole]]:
    """Find where a stand-in has to be: before which slot, and whose it must be.

    Neighbours that were neighbours before are left as they are: their provider takes them.
    """
    if dialect not in ALTERNATING:
        return
    for at in range(1, len(slots)):
        role = gap_between(slots[at - 1], slots[at], dialect)
        if role is not None:
            yield at, role


def gap_between(before: Slot, after: Slot, dialect: Dialect) -> GapRole | None:
    """Tell whose a stand-in between two slots must be; None where none is needed."""
    if _were_neighbours(before, after):
        return None
    return gap_role(dialect, before.facts.role, after.facts.role)


def gap_role(dialect: Dialect, before: str, after: str) -> GapRole | None:
    """Tell whose a stand-in between two messages must be; None where none is needed.

    Args:
        dialect: How the messages are written.
        before: The role of the first, as in `Facts`.
        after: The role of the second.
    """
    one, other = before == "assistant", after == "assistant"
    if one and other and dialect in ALTERNATING:
        return "user"
    return "assistant" if dialect == "anthropic" and not one and not other else None


def _were_neighbours(before: Slot, after: Slot) -> bool:
    if "summary" in (before.kind, after.kind):
        return False
    return before.origins[-1] + 1 == after.origins[0]


def gap_message(dialect: Dialect, role: GapRole) -> Message:
    """Make the message that stands in a gap."""
    return LANGUAGES[dialect].grammar.say(role, GAP)


def how_many(
    slots: Sequence[Slot],
    order: Iterable[Sequence[int]],
    dialect: Dialect,
    cost: Callable[[GapRole], int],
    over: int,
) -> int:
    """Tell how many groups of slots must leave; see `how_many_leave`.

    Args:
        slots: The list.
        order: Positions of the slots that leave together, in the order in which they leave.
        dialect: How the messages are written.
        cost: What a stand-in for a gap costs.
        over: Tokens to be freed.
    """

    def between(one: int, other: int) -> int:
        role = gap_between(slots[one], slots[other], dialect)
        return 0 if role is None else cost(role)

    return how_many_leave([slot.cost for slot in slots], order, between, over)


def how_many_leave(
    costs: Sequence[int],
    order: Iterable[Sequence[int]],
    gap_cost: Callable[[int, int], int],
    over: int,
) -> int:
    """Tell how many groups of messages must leave, one after the other, until enough is freed.

    A gap that opens takes tokens, one that closes frees them, so this is walked and not summed.

    Args:
        costs: What each message of the list costs.
        order: Positions of the messages that leave together, in the order in which they leave.
        gap_cost: What the stand-in between two messages costs, if all between them left.
        over: Tokens to be freed.

    Returns:
        The number of groups; all of them if that is not enough.
    """
    before = list(range(-1, len(costs) - 1))
    after = list(range(1, len(costs) + 1))

    def gap(one: int, other: int) -> int:
        return 0 if one < 0 or other == len(costs) else gap_cost(one, other)

    count = 0
    for group in order:
        if over <= 0:
            break
        count += 1
        for at in group:
            left, right = before[at], after[at]
            over += gap(left, right) - gap(left, at) - gap(at, right) - costs[at]
            if left >= 0:
                after[left] = right
            if right < len(costs):
                before[right] = left
    return count
