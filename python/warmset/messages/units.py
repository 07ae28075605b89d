"""What stays or leaves together: an assistant message, all its tool calls, all their results.

Units are read off the facts of a list, so they are the same for every dialect. Every message is
in exactly one unit; leaving out whole units never parts a call from its result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Facts

UnitKind: TypeAlias = Literal["system", "user", "assistant", "tool", "orphan"]


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that stay or leave together.

    Args:
        members: Positions in the list, ascending; not always adjacent.
        kind: Whose message it is; "tool" for calls with their results, "orphan" for a message
            of results whose calls are nowhere before it.
        open: Whether a call in it has no result yet.
    """

    members: tuple[int, ...]
    kind: UnitKind
    open: bool = False


def units(facts: Sequence[Facts]) -> list[Unit]:
    """Part a list into units, in linear time.

    A result belongs to the latest call of its id that has none yet. A message whose results answer
    two assistant messages makes one unit of both.

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
    """Tell each message's unit alone, which is quicker than to make the units.

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
    waiting: dict[str, list[int]] = {}  # by call id: who still waits, the latest last
    unanswered = [0] * len(facts)
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
        if fact.bond and index and holds(facts[index - 1], fact):
            _join(parent, index - 1, index)
    for index, above in enumerate(parent):  # a first member stands before the others
        parent[index] = parent[above]
    return parent, unanswered


def exchange_start(facts: Sequence[Facts]) -> int | None:
    """Return where the current exchange begins: the last message in which a user asks something.

    A text beside tool results often is a reminder that the agent adds to them, so a message without
    results goes first; see `last_said`.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if no user asks anything. A message of tool results alone does not ask.
    """
    places = range(len(facts) - 1, -1, -1)
    plain = (at for at in places if facts[at].request and not facts[at].results)
    return next(plain, last_said(facts))


def last_said(facts: Sequence[Facts]) -> int | None:
    """Return the last message in which a user says anything, beside tool results too.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if no user says anything.
    """
    return next((i for i in range(len(facts) - 1, -1, -1) if facts[i].request), None)


def anchor(facts: Sequence[Facts]) -> int | None:
    """Return the task anchor: the first message in which a user asks something.

    Args:
        facts: The facts of each message, in order.

    Returns:
        Its position; None if no user asks anything.
    """
    return next((index for index, fact in enumerate(facts) if fact.request), None)


def loop_start(facts: Sequence[Facts]) -> int | None:
    """Return the message whose reasoning begins an unfinished tool loop at the end.

    Anthropic refuses a loop whose turn no longer begins with its thinking (A6).

    Args:
        facts: The facts of each message, in order.

    Returns:
        The position of the first reply to the last request, if it begins with reasoning and the
        list ends with calls or results; else None.
    """
    if not facts or not is_unfinished(facts[-1]):
        return None
    asked = exchange_start(facts)
    first = 0 if asked is None else asked + 1
    reply = next((at for at in range(first, len(facts)) if facts[at].role == "assistant"), None)
    return reply if reply is not None and facts[reply].thinks else None


def is_unfinished(last: Facts) -> bool:
    """Tell whether a list that ends with this message ends within a tool loop."""
    return bool(last.calls or (last.results and not last.request))


def holds(one: Facts, other: Facts) -> bool:
    """Tell whether two neighbours are items of one response that cannot do without each other.

    Args:
        one: The facts of the first.
        other: The facts of the message right behind it.
    """
    return bool(one.bond and other.bond) and max(one.bond, other.bond) > 1


def kind_of(first: Facts) -> UnitKind:
    """Tell a unit's kind by its first member; results that stand first found no call before.

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
