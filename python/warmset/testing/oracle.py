"""A naive implementation of `fit`: too simple to be wrong, too slow to be used.

It shares no code with the rest of warmset: units are found by looking at every pair, and every cut
is tried.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warmset.testing.links import see

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from warmset.messages import Dialect, Message
    from warmset.testing.links import Seen


_LONG, _SHARED = 16, 12
"""What two ids of one response have at least: their length, and what they begin or end with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Puzzle:
    """A list to be fitted, in numbers.

    Args:
        messages: The messages.
        dialect: How they are written.
        budget: The most tokens that everything may have.
        costs: The tokens of each message.
        overhead: Tokens besides the messages.
        gap: The tokens of a filler message by its role: "user" or "assistant".
        brief: The tokens of the task in one line.
        pins: Positions that must stay.
    """

    messages: Sequence[Message]
    dialect: Dialect
    budget: int
    costs: Sequence[int]
    overhead: int
    gap: dict[str, int]
    brief: int
    pins: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The oracle's solution.

    Args:
        kept: Positions of the messages that stay unchanged.
        brief: Whether the task is shown in one line.
        need: The tokens that are needed, if they exceed the budget.
    """

    kept: frozenset[int] = field(default_factory=frozenset)
    brief: bool = False
    need: int | None = None


def together(messages: Sequence[Message], dialect: Dialect) -> list[list[int]]:
    """Divide a list into units by comparing every pair of messages.

    Returns:
        Positions that belong together, ascending, by their first member.
    """
    seen = [see(message, dialect) for message in messages]
    unit = list(range(len(seen)))

    def join(one: int, other: int) -> None:
        low, high = sorted((unit[one], unit[other]))
        for at, label in enumerate(unit):
            if label == high:
                unit[at] = low

    for one, other in _links(seen, dialect):
        join(one, other)
    return [[at for at, label in enumerate(unit) if label == first] for first in sorted(set(unit))]


def _links(seen: Sequence[Seen], dialect: Dialect) -> Iterable[tuple[int, int]]:
    """Yield the pairs of messages that must not be parted."""
    yield from _answered(seen)
    for at in range(1, len(seen)):
        before, after = seen[at - 1], seen[at]
        model = before.who == after.who == "assistant"
        instructs = dialect == "anthropic" and after.who == "system"
        if instructs or (model and (before.clings or after.clings)):
            yield at - 1, at
    for at in range(len(seen)):
        yield from ((lead, at) for lead in range(at) if _same_response(seen, lead, at))


def _same_response(seen: Sequence[Seen], lead: int, at: int) -> bool:
    """Return whether an item with an id was made with the reasoning at `lead`, outputs between."""
    one, other = seen[lead], seen[at]
    between = seen[lead + 1 : at]
    if not (one.reasons and one.stem and other.stem):
        return False
    if any(two.reasons or two.who not in ("assistant", "tool") for two in between):
        return False
    if one.stem == other.stem:
        return True
    if min(len(one.stem), len(other.stem)) < _LONG:
        return not other.reasons
    shared = zip((one.stem, one.stem[::-1]), (other.stem, other.stem[::-1]), strict=True)
    return any(mine.startswith(theirs[:_SHARED]) for mine, theirs in shared)


def _answered(seen: Sequence[Seen]) -> list[tuple[int, int]]:
    """Return the positions of call and result, for every result with an earlier call."""
    pairs: list[tuple[int, int]] = []
    taken: list[tuple[int, int]] = []
    for at, one in enumerate(seen):
        for answer in one.answers:
            free = [
                (before, place)
                for before in range(at)
                for place, call in enumerate(seen[before].calls)
                if call == answer and (before, place) not in taken
            ]
            if free:
                latest = max(before for before, _ in free)
                taken.append(next(pair for pair in free if pair[0] == latest))
                pairs.append((latest, at))
    return pairs


def must_stay(puzzle: Puzzle) -> set[int]:
    """Return the positions of the messages that must stay, whole units only."""
    seen = [see(message, puzzle.dialect) for message in puzzle.messages]
    asked = [at for at, one in enumerate(seen) if one.asks]
    held = {at for at, one in enumerate(seen) if one.who == "system"} | puzzle.pins
    spoken = [at for at, one in enumerate(seen) if one.who != "system"]
    held |= {asked[0], asked[-1]} if asked else {*spoken[-1:]}
    since = current(seen)
    held.add(since)  # -1, where nobody asks, is in no unit
    held |= opening(seen)
    if puzzle.dialect in ("responses", "interactions"):
        first = next((at for at, one in enumerate(seen) if one.calls), len(seen))
        held |= {at for at in range(first) if seen[at].answers}
    answered = _answered(seen)
    for at, one in enumerate(seen):
        if len(one.calls) > sum(called == at for called, _ in answered):
            unit = next(u for u in together(puzzle.messages, puzzle.dialect) if at in u)
            if unit[-1] > since:
                held |= set(unit)
    return {
        at for unit in together(puzzle.messages, puzzle.dialect) if held & set(unit) for at in unit
    }


def current(seen: Sequence[Seen]) -> int:
    """Return the last request: one without tool results if there is any, -1 if there is none."""
    plain = [at for at, one in enumerate(seen) if one.asks and not one.answers]
    return max(plain or [at for at, one in enumerate(seen) if one.asks], default=-1)


def opening(seen: Sequence[Seen]) -> set[int]:
    """Return the first reply to the last request, if it thinks and the list ends in its loop."""
    replies = [at for at, one in enumerate(seen) if one.who == "assistant" and at > current(seen)]
    ends_in_loop = bool(seen) and (seen[-1].calls or (seen[-1].answers and not seen[-1].asks))
    return {replies[0]} if ends_in_loop and replies and seen[replies[0]].thinks else set()


def solve(
    puzzle: Puzzle,
    leave: Callable[[Puzzle, set[int]], Iterable[list[int]]],
    always: Callable[[Puzzle, set[int]], set[int]] | None = None,
) -> Verdict:
    """Fit a list.

    Args:
        puzzle: The list.
        leave: The policy: which units leave one after the other, as long as something must, given
            the positions that must stay; see `by_age`, `by_score`.
        always: Which positions leave even if the list fits, given the positions that must stay; see
            `between`. They stay if filler messages in their place would exceed the budget.

    Returns:
        What stays.
    """
    kept = set(range(len(puzzle.messages)))
    fits = _total(puzzle, kept, brief=False) <= puzzle.budget
    # Nothing may change before a loop whose thinking is bound to what stands there.
    if fits and (always is None or opening([see(m, puzzle.dialect) for m in puzzle.messages])):
        return Verdict(frozenset(kept))
    held, brief = must_stay(puzzle), False
    if not fits and _total(puzzle, held, brief=False) > puzzle.budget:
        brief = _may_be_brief(puzzle)
        need = _total(puzzle, held, brief=brief)
        if need > puzzle.budget:
            return Verdict(need=need)
    if always is not None:
        rest = kept - always(puzzle, held)
        if _total(puzzle, rest, brief=brief) <= puzzle.budget:
            kept = rest
    for unit in leave(puzzle, held):
        if _total(puzzle, kept, brief=brief) <= puzzle.budget:
            break
        kept -= set(unit)
    task = {_task(puzzle)} if brief else set()
    return Verdict(frozenset(kept) - task, brief)


def by_age(puzzle: Puzzle, held: set[int]) -> Iterable[list[int]]:
    """The policy that evicts the oldest units first."""
    units = together(puzzle.messages, puzzle.dialect)
    return [unit for unit in units if not held & set(unit)]


def by_score(scores: Sequence[float]) -> Callable[[Puzzle, set[int]], Iterable[list[int]]]:
    """The policy that evicts the lowest scores first, of equal ones the oldest."""

    def leave(puzzle: Puzzle, held: set[int]) -> Iterable[list[int]]:
        units = by_age(puzzle, held)
        return sorted(units, key=lambda unit: max(scores[at] for at in unit))

    return leave


def by_place(head: int, tail: int) -> Callable[[Puzzle, set[int]], Iterable[list[int]]]:
    """The policy that evicts everything between the ends at once, and then the oldest."""

    def leave(puzzle: Puzzle, held: set[int]) -> Iterable[list[int]]:
        middle = between(head, tail)(puzzle, held)
        rest = [unit for unit in by_age(puzzle, held) if unit[0] not in middle]
        return [sorted(middle), *rest] if middle else rest

    return leave


def between(head: int, tail: int) -> Callable[[Puzzle, set[int]], set[int]]:
    """The positions between the ends, without those that must stay."""

    def middle(puzzle: Puzzle, held: set[int]) -> set[int]:
        units = together(puzzle.messages, puzzle.dialect)
        seen = [see(puzzle.messages[unit[0]], puzzle.dialect) for unit in units]
        spoken = [unit for unit, one in zip(units, seen, strict=True) if one.who != "system"]
        return {
            at
            for place, unit in enumerate(spoken)
            if head <= place < len(spoken) - tail and not held & set(unit)
            for at in unit
        }

    return middle


def _total(puzzle: Puzzle, kept: set[int], *, brief: bool) -> int:
    order = sorted(kept)
    tokens = puzzle.overhead + sum(puzzle.costs[at] for at in order)
    for before, after in itertools.pairwise(order):
        tokens += _gap(puzzle, before, after)
    if brief and (task := _task(puzzle)) is not None:
        tokens += puzzle.brief - puzzle.costs[task]
        place = order.index(task)
        beside = [*order[max(place - 1, 0) : place], *order[place + 1 : place + 2]]
        for other in beside:
            pair = sorted((task, other))
            if pair[0] + 1 == pair[1]:  # they were neighbours; one of them no longer is itself
                tokens += _gap(puzzle, *pair, always=True)
    return tokens


def _gap(puzzle: Puzzle, before: int, after: int, *, always: bool = False) -> int:
    """Return the tokens of the filler message between two messages, 0 if none is needed."""
    one = puzzle.messages[before].get("role")
    if puzzle.dialect == "anthropic" and one == "system":
        follows = before + 1 != after and puzzle.messages[after].get("role") == "user"
        return puzzle.gap["assistant"] if follows else 0
    if (before + 1 == after and not always) or one != puzzle.messages[after].get("role"):
        return 0
    if puzzle.dialect == "anthropic":
        return puzzle.gap["assistant" if one == "user" else "user"]
    if puzzle.dialect == "gemini" and one == "model":
        return puzzle.gap["user"]
    return 0


def _task(puzzle: Puzzle) -> int:
    return next(
        at for at, message in enumerate(puzzle.messages) if see(message, puzzle.dialect).asks
    )


def _may_be_brief(puzzle: Puzzle) -> bool:
    """Return whether one line may replace the task, and is shorter."""
    asked = [at for at, one in enumerate(puzzle.messages) if see(one, puzzle.dialect).asks]
    seen = [see(one, puzzle.dialect) for one in puzzle.messages]
    if asked[0] in {*puzzle.pins, asked[-1], current(seen)}:
        return False
    unit = next(u for u in together(puzzle.messages, puzzle.dialect) if asked[0] in u)
    return len(unit) == 1 and puzzle.brief < puzzle.costs[asked[0]]
