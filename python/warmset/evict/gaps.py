"""Filler messages: they keep a list valid where evictions leave two neighbours of the same role.

Anthropic's models on Bedrock and many proxies require that roles alternate, a system message in an
Anthropic list must stand between the user and the assistant, and a Gemini content with calls must
follow a user's. Merging the neighbours would change messages that stayed, and with
them the prefix that a provider has cached; so a short message of the other role fills the gap.
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
"""Dialects in which a provider may reject two neighbours of the same role."""


_OTHER_ROLES: Final = frozenset({"summary", "collapsed"})
"""Kinds of replacements whose role may be another one than that of what they replace."""


def gaps(slots: Sequence[Slot], dialect: Dialect) -> Iterator[tuple[int, GapRole]]:
    """Find the slots that need a filler message before them, and the role of each.

    Messages that were neighbours in the input get none: the provider accepted them there.
    """
    if dialect not in ALTERNATING:
        return
    for at in range(1, len(slots)):
        role = gap_between(slots[at - 1], slots[at], dialect)
        if role is not None:
            yield at, role


def gap_between(before: Slot, after: Slot, dialect: Dialect) -> GapRole | None:
    """Return the role of the filler message between two slots; None if none is needed."""
    if _were_neighbours(before, after):
        return None
    return gap_role(dialect, before.facts.role, after.facts.role)


def gap_role(dialect: Dialect, before: str, after: str) -> GapRole | None:
    """Return the role of the filler message between two messages; None if none is needed.

    Args:
        dialect: The dialect of the messages.
        before: The role of the first, as in `Facts`.
        after: The role of the second.
    """
    if dialect == "anthropic" and "system" in (before, after):
        if after == "system":
            return "user" if before == "assistant" else None
        return None if after == "assistant" else "assistant"
    one, other = before == "assistant", after == "assistant"
    if one and other and dialect in ALTERNATING:
        return "user"
    return "assistant" if dialect == "anthropic" and not one and not other else None


def _were_neighbours(before: Slot, after: Slot) -> bool:
    if not _OTHER_ROLES.isdisjoint((before.kind, after.kind)):
        return False
    return before.origins[-1] + 1 == after.origins[0]


def gap_message(dialect: Dialect, role: GapRole) -> Message:
    """Return the filler message for a gap."""
    return LANGUAGES[dialect].grammar.say(role, GAP)


def how_many(
    slots: Sequence[Slot],
    order: Iterable[Sequence[int]],
    dialect: Dialect,
    cost: Callable[[GapRole], int],
    over: int,
) -> int:
    """Return how many groups of slots must leave; see `how_many_leave`.

    Args:
        slots: The list.
        order: Groups of positions of slots that leave together, in the order of eviction.
        dialect: The dialect of the messages.
        cost: The tokens of a filler message.
        over: Tokens to free.
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
    """Return how many groups of messages must leave, in their order, to free enough tokens.

    A new gap takes tokens and a closed gap frees them, so the groups are walked one by one.

    Args:
        costs: The tokens of each message of the list.
        order: Groups of positions of messages that leave together, in the order of eviction.
        gap_cost: Returns the tokens of the filler message between two messages, if all between them
            left.
        over: Tokens to free.

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
