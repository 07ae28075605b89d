"""Pairs results with calls in broken lists, for the repairs of all dialects."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Asked:
    """A call or a result.

    Args:
        index: Position of its message in the list.
        key: The key that a call and its result share: a kind, and an id.
        number: Which call of its message it is; None for a result.
    """

    index: int
    key: tuple[str, str]
    number: int | None = None


def match(asked: Sequence[Asked]) -> tuple[list[tuple[Asked, Asked]], list[tuple[Asked, bool]]]:
    """Pair calls and results, in linear time.

    A result belongs to the latest earlier call of its key without a result; among the calls of one
    message, to the first. A remaining result belongs to the first open call after it.

    Args:
        asked: Calls and results in the order of the list; the calls of a message in a row.

    Returns:
        The pairs, and the results without a call, each with whether any call has its key.
    """
    waiting: dict[tuple[str, str], list[deque[Asked]]] = {}
    pairs: list[tuple[Asked, Asked]] = []
    left: list[Asked] = []
    for one in asked:
        stack = waiting.setdefault(one.key, [])
        if one.number is not None:
            if stack and stack[-1][0].index == one.index:
                stack[-1].append(one)
            else:
                stack.append(deque([one]))
        elif stack:
            pairs.append((stack[-1].popleft(), one))
            if not stack[-1]:
                stack.pop()
        else:
            left.append(one)
    called = {one.key for one in asked if one.number is not None}
    later = {
        key: deque(call for calls in stack for call in calls) for key, stack in waiting.items()
    }
    alone: list[tuple[Asked, bool]] = []
    for one in left:
        calls = later[one.key]
        if calls:
            pairs.append((calls.popleft(), one))
        else:
            alone.append((one, one.key in called))
    return pairs, alone


def fresh_ids(ids: Sequence[str], taken: Iterable[str] = ()) -> dict[int, str]:
    """Find a new id for each duplicate, in linear time.

    Args:
        ids: The ids, in order.
        taken: Other ids that the new ones must not be.

    Returns:
        By the position in the list, the new id: the old one with the lowest free number.
    """
    used = {*ids, *taken}
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    fresh: dict[int, str] = {}
    for at, old in enumerate(ids):
        if old not in seen:
            seen.add(old)
            continue
        number = numbers.get(old, 2)
        while f"{old}_{number}" in used:
            number += 1
        numbers[old] = number + 1
        fresh[at] = f"{old}_{number}"
        used.add(fresh[at])
    return fresh
