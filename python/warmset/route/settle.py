"""What is redundant leaves only if what says it too stands in the payload."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warmset.route.choice import choose
from warmset.route.triage import Verdict, ancestors

if TYPE_CHECKING:
    from warmset.route.choice import Judged
    from warmset.route.texts import Texts


def settled(judged: Judged, room: int, texts: Texts) -> tuple[Judged, set[int]]:
    """Choose what stands in the payload; see `choose`.

    Where the budget has no room for what stands for a redundant item, or for its facts, the item is
    supplementary, and it is chosen anew.

    Args:
        judged: What can be chosen from.
        room: The tokens that it may take.
        texts: What the candidates say.

    Returns:
        The same with the verdicts that hold now, and the ids of what was chosen.

    Raises:
        BudgetTooSmall: The essential items do not fit.
    """
    while True:
        chosen = choose(judged, room)
        lost = _lost(judged, chosen, texts)
        if not lost:
            return judged, chosen
        again = Verdict("supplementary", "what says it, too, has no room")
        judged = replace(judged, verdicts={**judged.verdicts, **dict.fromkeys(lost, again)})


def _lost(judged: Judged, chosen: set[int], texts: Texts) -> list[int]:
    """Return the ids of redundant items whose twin, or one of whose facts, has no room."""
    wanted = {one.id for one in judged.candidates if judged.is_wanted(one)}
    if wanted <= chosen:  # the triage made sure of it
        return []
    by_id = {one.id: one for one in judged.candidates}
    by_name = {one.memory_id: one for one in judged.candidates}
    facts: frozenset[str] | None = None
    lost: list[int] = []
    for one in judged.candidates:
        verdict = judged.verdicts.get(one.id)
        if verdict is None or verdict.classification != "redundant" or one.id in chosen:
            continue
        twin = None if verdict.twin is None else by_id.get(verdict.twin)
        if twin is not None:
            if twin.id not in wanted:  # it is left out for another reason, which is this one's, too
                continue
            if twin.id not in chosen:
                lost.append(one.id)
                continue
            if one.memory_id in ancestors(twin, by_name):  # worked up, and not repeated
                continue
        if facts is None:
            facts = frozenset().union(*(texts.said(by_id[id_]).facts for id_ in chosen))
        if not texts.said(one).facts <= facts:
            lost.append(one.id)
    return lost
