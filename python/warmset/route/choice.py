"""What stands in a payload: essential items first, the others by worth per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warmset._core import pack
from warmset.errors import BudgetTooSmall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    """

    candidates: Sequence[Candidate]
    verdicts: Mapping[int, Verdict]
    costs: Mapping[int, int]
    closures: Mapping[int, frozenset[int]]

    def is_wanted(self, one: Candidate) -> bool:
        """Return whether an item may be chosen for its own sake."""
        verdict = self.verdicts.get(one.id)
        return verdict is not None and verdict.classification in ("essential", "supplementary")


def choose(judged: Judged, room: int) -> set[int]:
    """Return the ids of what stands in the payload.

    Essential items come first, with what they depend on, then what a triage wants first, then the
    others. These are taken by worth per token, each with what it depends on; what does not fit is
    passed over.

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
            chosen |= {one.id, *judged.closures.get(one.id, ())}
    need = sum(judged.costs[id_] for id_ in chosen)
    if need > room:
        raise BudgetTooSmall(need, room)
    room -= need
    for is_first in (True, False):
        some = [one for one in wanted if judged.verdicts[one.id].first is is_first]
        more = _worthiest(some, judged, chosen, room)
        chosen |= more
        room -= sum(judged.costs[id_] for id_ in more)
    return chosen


def _worthiest(wanted: Sequence[Candidate], judged: Judged, taken: set[int], room: int) -> set[int]:
    """Return the ids of what is taken besides, with what it depends on."""
    chosen = set(taken)
    alone = [
        one
        for one in wanted
        if one.id not in chosen and not (judged.closures.get(one.id, frozenset()) - chosen)
    ]
    single = {one.id for one in alone}
    bound = [one for one in wanted if one.id not in chosen and one.id not in single]
    if not bound:
        return _packed(alone, judged.costs, room)
    # With dependencies in common what an item costs changes with each that is taken.
    order = sorted((*alone, *bound), key=lambda one: (-_density(one, judged), one.id))
    for one in order:
        more = {one.id, *judged.closures.get(one.id, ())} - chosen
        cost = sum(judged.costs[id_] for id_ in more)
        if cost <= room:
            chosen |= more
            room -= cost
    return chosen - taken


def _packed(some: Sequence[Candidate], costs: Mapping[int, int], room: int) -> set[int]:
    if not some:
        return set()
    prices = [costs[one.id] for one in some]
    values = [one.worth / max(1, price) for one, price in zip(some, prices, strict=True)]
    return {some[at].id for at in pack(prices, values, room).tolist()}


def _density(one: Candidate, judged: Judged) -> float:
    """Return what an item is worth for each token of it and of what it depends on."""
    ids = {one.id, *judged.closures.get(one.id, ())}
    return one.worth / max(1, sum(judged.costs[id_] for id_ in ids))
