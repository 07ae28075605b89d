"""Units: messages that stay or leave together, as an assistant's tool calls and all their results.

Units are computed from the facts of a list, so they are the same for every dialect. Every message
is in exactly one unit; leaving out whole units never separates a call from its result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Dialect, Facts

REASONING: Final = 3
"""The bond of reasoning; see `Facts.bond`."""

REFERENCE: Final = 5
"""The bond of a reference to a stored item that may be a call."""

_LONG, _SHARED = 16, 12
"""The least length of an id that tells its response, and how much of it the items of one share.

Ids of OpenAI's items have a random part that all items of a response begin or end with."""

BEHIND: Final = 4
"""The bond of a message that needs the one before it: a system message in an Anthropic list."""

STORED: Final = ("responses", "interactions")
"""The dialects whose lists may go on behind messages that the provider has stored."""

UnitKind: TypeAlias = Literal["system", "user", "assistant", "tool", "orphan"]


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that stay or leave together.

    Args:
        members: Positions in the list, ascending; not always adjacent.
        kind: The role of its messages; "tool" for calls with their results, "orphan" for a message
            of results without an earlier call.
        open: Whether a call in it has no result yet.
    """

    members: tuple[int, ...]
    kind: UnitKind
    open: bool = False


def units(facts: Sequence[Facts]) -> list[Unit]:
    """Divide a list into units, in linear time.

    A result belongs to the latest call of its id that has no result yet. A message whose results
    answer two assistant messages makes one unit of both.

    Args:
        facts: The facts of each message, in order.

    Returns:
        The units, ordered by their first member.
    """
    parent, unanswered = _joined(facts)
    groups: dict[int, list[int]] = {}
    for index, first in enumerate(parent):
        groups.setdefault(first, []).append(index)
    return [
        Unit(
            tuple(members),
            kind_of(facts[first]),
            unanswered[first] > 0
            if len(members) == 1
            else any(unanswered[member] for member in members),
        )
        for first, members in groups.items()
    ]


def homes(facts: Sequence[Facts]) -> tuple[list[int], list[int]]:
    """Return the unit of each message; faster than `units`.

    Args:
        facts: The facts of each message, in order.

    Returns:
        The first member of each message's unit, and the last members of units that are open.
    """
    parent, unanswered = _joined(facts)
    waits = {parent[index] for index, calls in enumerate(unanswered) if calls}
    last = {first: index for index, first in enumerate(parent) if first in waits}
    return parent, sorted(last.values())


def _joined(facts: Sequence[Facts]) -> tuple[list[int], list[int]]:
    """Return the first member of each message's unit, and how many of its calls wait."""
    parent = list(range(len(facts)))
    waiting: dict[str, list[int]] = {}  # by call id: the calls without a result, the latest last
    unanswered = [0] * len(facts)
    bonds = Bonds()
    for index, fact in enumerate(facts):
        for call in fact.results:
            if callers := waiting.get(call):
                caller = callers.pop()
                unanswered[caller] -= 1
                _join(parent, caller, index)
        if calls := fact.calls:
            unanswered[index] = len(calls)
            for call in calls:
                waiting.setdefault(call, []).append(index)
        for other in bonds.of(index, fact):
            _join(parent, other, index)
        if fact.results and parent[index] == index and bonds.reference is not None:
            _join(parent, bonds.reference, index)  # its call may be what is referred to
    for index, above in enumerate(parent):  # a first member stands before the others
        parent[index] = parent[above]
    return parent, unanswered


def exchange_start(facts: Sequence[Facts]) -> int | None:
    """Return the position of the last user request, where the current exchange begins.

    A text beside tool results is often a reminder that the agent added, so a message without
    results takes precedence; see `last_said`.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if there is no request. A message of tool results alone is not one.
    """
    places = range(len(facts) - 1, -1, -1)
    plain = (at for at in places if facts[at].request and not facts[at].results)
    return next(plain, last_said(facts))


def last_said(facts: Sequence[Facts]) -> int | None:
    """Return the position of the last message with a user's text, also beside tool results.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if there is none.
    """
    return next((i for i in range(len(facts) - 1, -1, -1) if facts[i].request), None)


def anchor(facts: Sequence[Facts]) -> int | None:
    """Return the position of the task anchor: the first user request.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if there is no request.
    """
    return next((index for index, fact in enumerate(facts) if fact.request), None)


def answering_stored(
    facts: Sequence[Facts], dialect: Dialect, *, continues: bool = False
) -> list[int]:
    """Return the positions of results that may answer calls which the provider has stored.

    Args:
        facts: The facts of each message, in order.
        dialect: The dialect of the messages.
        continues: Whether the list is known to go on behind stored messages.

    Returns:
        Where that is not known, only results before which nothing is called.
    """
    if dialect not in STORED:
        return []
    called: set[str] = set()
    found: list[int] = []
    bonds = Bonds()
    for index, fact in enumerate(facts):
        bonds.of(index, fact)
        stored = continues or not (called or bonds.reference is not None)
        if fact.results and stored and called.isdisjoint(fact.results):
            found.append(index)
        called.update(fact.calls)
    return found


def loop_start(facts: Sequence[Facts]) -> int | None:
    """Return the message whose reasoning begins an unfinished tool loop at the end.

    Anthropic rejects a loop whose turn no longer begins with its thinking (A6).

    Args:
        facts: The facts of each message, in order.

    Returns:
        The position of the first reply to the last request, if it begins with reasoning and the
        list ends with calls or results; else None.
    """
    last = next((fact for fact in reversed(facts) if not fact.is_system), None)
    if last is None or not is_unfinished(last):
        return None
    asked = exchange_start(facts)
    first = 0 if asked is None else asked + 1
    reply = next((at for at in range(first, len(facts)) if facts[at].role == "assistant"), None)
    return reply if reply is not None and facts[reply].thinks else None


def is_unfinished(last: Facts) -> bool:
    """Return whether a list that ends with this message ends within a tool loop."""
    return bool(last.calls or (last.results and not last.request))


def holds(one: Facts, other: Facts) -> bool:
    """Return whether two neighbours are items of one response that must stay together.

    Args:
        one: The facts of the first.
        other: The facts of the message right behind it.
    """
    return bool(one.bond and other.bond) and max(one.bond, other.bond) > 1


class Bonds:
    """Finds the items of a response that belong together, in a list that is read once."""

    def __init__(self) -> None:
        self._before: Facts | None = None
        self._reasoning: tuple[int, Facts] | None = None  # the last one, if it has an id
        self.reference: int | None = None
        """The position of the last reference, which may stand for the calls of its response."""

    def of(self, index: int, fact: Facts) -> tuple[int, ...]:
        """Return the positions of earlier items that the next one belongs to.

        Args:
            index: The position of the next message; every message of the list is passed in order.
            fact: Its facts.
        """
        found: tuple[int, ...] = ()
        if fact.bond == BEHIND:
            found = (index - 1,) if index else ()
        elif fact.bond:
            if self._before is not None and holds(self._before, fact):
                found = (index - 1,)
            if self._reasoning is not None and made_with(self._reasoning[1], fact):
                found += (self._reasoning[0],)
            if fact.bond == REASONING:
                self._reasoning = (index, fact) if fact.item_id else None
            if fact.bond == REFERENCE:
                self.reference = index
        elif not fact.results:
            self._reasoning = self.reference = None
        self._before = fact
        return found


def made_with(reasoning: Facts, item: Facts) -> bool:
    """Return whether an item belongs to the response of reasoning before it.

    Outputs of the response's other calls may stand between. The provider refuses an item with an id
    whose reasoning is missing, so ids that are too short to tell count as those of one response.

    Args:
        reasoning: The facts of the last reasoning before the item, with an id.
        item: The facts of the item.
    """
    one, other = reasoning.item_id, item.item_id
    if not other or one == other:
        return bool(other)
    if min(len(one), len(other)) < _LONG:
        return item.bond != REASONING
    return one[:_SHARED] == other[:_SHARED] or one[-_SHARED:] == other[-_SHARED:]


def kind_of(first: Facts) -> UnitKind:
    """Return a unit's kind by its first member; results at its start have no earlier call.

    Args:
        first: The facts of that message.
    """
    if first.calls:
        return "tool"
    if first.results:
        return "orphan"
    if first.is_system:
        return "system"
    return "assistant" if first.role == "assistant" else "user"


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = index = parent[parent[index]]
    return index


def _join(parent: list[int], one: int, other: int) -> None:
    """Unite two groups under the earlier of their first members."""
    one, other = _root(parent, one), _root(parent, other)
    if one != other:
        parent[max(one, other)] = min(one, other)
