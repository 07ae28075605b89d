"""What stands in a payload: essential items first, the others by worth per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset._core import pack
from warmset.errors import BudgetTooSmall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.triage import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What can be chosen from.

    Args:
        candidates: The candidates that were judged, and after them what they depend on.
        verdicts: What each is for the task, by id; none of what is only depended on.
        costs: The tokens that each takes, by id.
        closures: By id, the ids of all that an item depends on, directly or not.
        again: Ids of what an earlier payload left out; half of the room is theirs.
    """

    candidates: Sequence[Candidate]
    verdicts: Mapping[int, Verdict]
    costs: Mapping[int, int]
    closures: Mapping[int, frozenset[int]]
    again: frozenset[int] = frozenset()

    def is_wanted(self, one: Candidate) -> bool:
        """Return whether an item may be chosen for its own sake."""
        verdict = self.verdicts.get(one.id)
        return verdict is not None and verdict.classification in ("essential", "supplementary")

    def group(self, one: Candidate) -> set[int]:
        """Return the ids of an item and of all that it depends on."""
        return {one.id, *self.closures.get(one.id, ())}

    def cost(self, ids: Iterable[int]) -> int:
        """Return the tokens of items."""
        return sum(self.costs[id_] for id_ in ids)


def choose(judged: Judged, room: int) -> set[int]:
    """Return the ids of what stands in the payload.

    Essential items come first, with what they depend on. The others are taken by worth per token,
    each with what it depends on; what does not fit is passed over.

    Args:
        judged: What can be chosen from.
        room: The tokens that they may take.

    Raises:
        BudgetTooSmall: The essential items do not fit.
    """
    wanted = [one for one in judged.candidates if judged.is_wanted(one)]
    chosen = set[int]()
    for one in wanted:
        if judged.verdicts[one.id].classification == "essential":
            chosen |= judged.group(one)
    need = judged.cost(chosen)
    if need > room:
        raise BudgetTooSmall(need, room)
    again = [one for one in wanted if one.id in judged.again]
    if again:
        half = need + (room - need) // 2
        chosen = _filled(judged, again, chosen, half)
        chosen = _filled(judged, wanted, chosen, room, but=judged.again)
    return _filled(judged, wanted, chosen, room)


def _filled(
    judged: Judged,
    some: Sequence[Candidate],
    chosen: set[int],
    room: int,
    *,
    but: frozenset[int] = frozenset(),
) -> set[int]:
    """Return what is chosen, with more of some items as far as the room goes."""
    left = room - judged.cost(chosen)
    rest = [one for one in some if one.id not in chosen and one.id not in but]
    if all(judged.group(one) - chosen == {one.id} for one in rest):
        return chosen | _packed(rest, judged.costs, left)
    # With dependencies in common what an item costs changes with each that is taken.
    # The order is that of what each costs beside what is chosen now.
    order = sorted(rest, key=lambda one: (-_density(one, judged, chosen), one.id))
    chosen = set(chosen)
    for one in order:
        more = judged.group(one) - chosen
        cost = judged.cost(more)
        if cost <= left:
            chosen |= more
            left -= cost
    return chosen


def _packed(some: Sequence[Candidate], costs: Mapping[int, int], room: int) -> set[int]:
    if not some:
        return set()
    prices = [costs[one.id] for one in some]
    values = [one.worth / max(1, price) for one, price in zip(some, prices, strict=True)]
    return {some[at].id for at in pack(prices, values, room).tolist()}


def _density(one: Candidate, judged: Judged, chosen: set[int]) -> float:
    """Return what an item is worth for each token that it adds, with what it depends on."""
    return one.worth / max(1, judged.cost(judged.group(one) - chosen))
