"""Searches how many messages fit, counted from the end that is kept.

The body of a list is in kept order: its first message is the last one to be dropped.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.adapters.langchain.counters import Counter, Whole

_SAMPLE = 64  # messages whose cost foretells where the budget ends
_CAUTION = 0.95  # of the foretold stretch, so that most steps stay within the budget
_GUESSES = 6  # by added costs, before the search halves


def longest(body: Sequence[Any], budget: float, counter: Counter, *, exact: bool) -> int:
    """Return how many messages of the body fit.

    Args:
        body: The messages, in kept order; not empty.
        budget: Tokens.
        counter: What they cost.
        exact: Whether to give the counter the very lists that langchain-core's bisection gives
            it, so that the result is the same for counters that are not monotone.

    Returns:
        The number of messages; the largest that fits if a longer list never costs less.
    """
    each, whole = counter.each, counter.whole
    if each is not None and (counter.bounded or not exact):
        return _walk(body, budget, each)
    if not exact:
        return _gallop(body, budget, whole)
    if each is not None:
        sums = [0, *accumulate(map(each, body))]
        return most(len(body), lambda count: sums[count] <= budget, at_once=True)
    return most(len(body), lambda count: whole(list(body[:count])) <= budget, at_once=True)


def most(count: int, fits: Callable[[int], bool], *, at_once: bool = False) -> int:
    """Return the largest number up to `count` that fits, by bisection; 0 always does.

    Args:
        count: The largest number.
        fits: Whether a number fits.
        at_once: Whether to try the largest one first.

    Returns:
        The number.
    """
    if at_once and fits(count):
        return count
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _walk(body: Sequence[Any], budget: float, each: Callable[[Any], float]) -> int:
    """Add costs until the budget is spent; nothing behind it is read."""
    spent = 0.0
    for count, message in enumerate(body):
        spent += each(message)
        if spent > budget:
            return count
    return len(body)


def _gallop(body: Sequence[Any], budget: float, whole: Whole) -> int:
    """Search with few and short lists.

    Costs that nearly add up tell by short stretches where the budget ends; two lists prove it, one
    that fits and one longer by a message that does not. Costs that do not add up are bisected.
    """
    total = len(body)
    if total <= _SAMPLE and whole(list(body)) <= budget:
        return total
    low, spent = 0, 0.0
    high = total + (total > _SAMPLE)
    guesses = 0
    while high - low > 1:
        if guesses < _GUESSES:
            guess = max(_foretell(body, low, high, budget - spent, whole), low + 1)
        else:
            guess = (low + high) // 2 if high <= total else min(2 * low, total)
        guesses += 1
        cost = whole(list(body[:guess]))
        if cost <= budget:
            low, spent = guess, cost
        else:
            high = guess
    return low


def _foretell(body: Sequence[Any], low: int, high: int, room: float, whole: Whole) -> int:
    """Return where the budget ends if the costs of stretches add up: low to high - 1."""
    start, place, left = low, low, room
    width = _SAMPLE
    while place < high - 1 and width:
        end = min(place + width, high - 1)
        cost = whole(list(body[place:end]))
        if cost > left:
            high = end
            width = (end - place) // 2
            continue
        place, left = end, left - cost
        paid = room - left
        width = int(left * (place - start) / paid * _CAUTION) if paid > 0 else high - place
        if place == start + _SAMPLE and place + width >= len(body):
            return high - 1  # all of it seems to fit: the proof is as cheap as another stretch
        width = max(1, min(width, high - 1 - place))
    return place
