"""Chooses the part of a list that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.adapters.langchain.partial import shortened
from warmset.adapters.langchain.search import longest
from warmset.adapters.langchain.shapes import kind_of
from warmset.adapters.langchain.ties import Ties

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.adapters.langchain.rules import Rules


def cut(given: Sequence[Any], seen: Sequence[Any], rules: Rules) -> list[Any]:
    """Return the messages that are kept.

    Args:
        given: The caller's messages.
        seen: The same messages in the counter's form; often the same objects.
        rules: The checked options.

    Returns:
        The caller's own objects, in order; a shortened message is a new one.
    """
    ties = Ties(given, backward=rules.last) if rules.pairs else None
    start, end, budget = 0, len(given), rules.budget
    if rules.last:
        end = _end(given, end, rules.end_on, ties)
        if rules.system and end and kind_of(given[0]) == "system":
            start, budget = 1, max(0, budget - rules.counter.whole([seen[0]]))
    if start == end:
        return list(given[:start])
    body = list(seen[start:end])
    if rules.last:
        body.reverse()
    fitting = longest(body, budget, rules.counter, exact=not rules.pairs)
    edge = end - fitting if rules.last else fitting
    short: dict[int, Any] = {}
    if rules.split and fitting < len(body):
        place = edge - 1 if rules.last else edge
        if ties is None or not (ties.tied(place) or ties.parts(edge)):
            short = shortened(body, fitting, budget, rules, given[place], place)
    if rules.last:
        edge = _begin(given, edge - len(short), end, rules.start_on, ties)
        kept = [*range(start), *range(edge, end)]
    else:
        kept = [*range(_end(given, edge + len(short), rules.end_on, ties))]
    if ties is not None:
        kept[start:] = ties.without_orphans(kept[start:])
    return [short[place] if place in short else given[place] for place in kept]


def _begin(
    given: Sequence[Any],
    start: int,
    end: int,
    wanted: Callable[[Any], bool] | None,
    ties: Ties | None,
) -> int:
    """Move the beginning forward until it may begin there and parts nothing."""
    while start < end:
        if wanted is not None and not wanted(given[start]):
            start += 1
            continue
        if ties is None:
            break
        clean = ties.later(start)
        if clean == start and not ties.orphan(start):
            break
        start = max(clean, start + 1)
    return start


def _end(
    given: Sequence[Any], end: int, wanted: Callable[[Any], bool] | None, ties: Ties | None
) -> int:
    """Move the end backward until it may end there and parts nothing."""
    while end > 0:
        if wanted is not None and not wanted(given[end - 1]):
            end -= 1
            continue
        if ties is None:
            break
        clean = ties.earlier(end)
        if clean == end and not ties.orphan(end - 1):
            break
        end = min(clean, end - 1)
    return end
