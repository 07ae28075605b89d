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
        again = {id_: Verdict("supplementary", why) for id_, why in lost.items()}
        judged = replace(judged, verdicts={**judged.verdicts, **again})


def _lost(judged: Judged, chosen: set[int], texts: Texts) -> dict[int, str]:
    """Return the redundant items of which a twin, or a fact, has no room, each with the reason."""
    wanted = {one.id for one in judged.candidates if judged.is_wanted(one)}
    by_id = {one.id: one for one in judged.candidates}
    by_name = {one.memory_id: one for one in judged.candidates}
    redundant = [
        one
        for one in judged.candidates
        if one.id not in chosen
        and one.id in judged.verdicts
        and judged.verdicts[one.id].classification == "redundant"
    ]
    lost: dict[int, str] = {}
    facts: frozenset[str] | None = None
    for one in redundant:
        twin = _standing(one.id, judged)
        if twin == one.id:  # they stand for each other, and none for both
            return {one.id: "what stands for it was made from it"}
        if twin is not None and twin in by_id:
            if twin not in wanted:  # it is left out for another reason, which is this one's, too
                continue
            if twin not in chosen:
                lost[one.id] = f"{by_id[twin].memory_id}, which has it, has no room"
                continue
            if one.memory_id in ancestors(by_id[twin], by_name):  # worked up, and not repeated
                continue
        if wanted <= chosen:  # the triage made sure of its facts
            continue
        if facts is None:
            facts = frozenset().union(*(texts.said(by_id[id_]).facts for id_ in chosen))
        if not texts.said(one).facts <= facts:
            lost[one.id] = "what says it, too, has no room"
    return lost


def _standing(id_: int, judged: Judged) -> int | None:
    """Return what stands for a redundant item in the end; itself if that leads back to it."""
    seen = {id_}
    twin = judged.verdicts[id_].twin
    while twin is not None:
        verdict = judged.verdicts.get(twin)
        if verdict is None or verdict.classification != "redundant" or verdict.twin is None:
            return twin
        if twin in seen:
            return id_
        seen.add(twin)
        twin = verdict.twin
    return None
