"""What each candidate is for the task: the second phase of routing, and the rules that serve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from warmset.compact.distil import MEMORY_TYPES
from warmset.route.said import Sayings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset.route.candidates import Candidate, Classification
    from warmset.route.request import Request
    from warmset.route.said import Said

NO_MATERIAL: Final = frozenset({"module_output", "user_context", "error_fix", *MEMORY_TYPES})
"""Types that are no raw material: what was made with such an item need not say what it says."""

BY_NEED: Final = "an essential need names it"
"""Why what is essential is so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a candidate is for the task.

    Args:
        classification: "essential", "supplementary", "redundant" or "irrelevant".
        reason: Why, in a few words.
        instead: The name of the item that stands for a redundant one; where that has no room
            itself, the redundant one may stand in the payload after all.
    """

    classification: Classification
    reason: str
    instead: str | None = None


class Triage(Protocol):
    """Judges candidates; what it does not judge, the rules do, and no essential one is dropped."""

    def judge(
        self, request: Request, candidates: Sequence[Candidate], said: Callable[[Candidate], Said]
    ) -> Mapping[int, Verdict]:
        """Return verdicts by the ids of candidates.

        Args:
            request: What the payload is for.
            candidates: The candidates, essential ones first, then by worth.
            said: Returns what a candidate says: its text, and what is compared of it.
        """
        ...


class RuleTriage:
    """Judges without a model: by priority, by what was worked up, and by what others say already.

    - What an essential need names is essential, whatever else holds.
    - What another candidate was made from is redundant: its worked-up form stands for it. Not so
      outputs of modules, what the user settled, fixes and memories: they are no raw material.
    - A text is redundant if at least nine tenths of its terms are in one that is worth more, and
      each of its numbers, names and paths is in what is worth more.
    - All else is supplementary.
    """

    def judge(
        self, request: Request, candidates: Sequence[Candidate], said: Callable[[Candidate], Said]
    ) -> Mapping[int, Verdict]:
        """Return a verdict for each candidate, by its id."""
        del request
        verdicts: dict[int, Verdict] = {}
        for one in candidates:
            if one.priority == "essential":
                verdicts[one.id] = Verdict("essential", BY_NEED)
        for id_, name in worked_up(candidates, candidates).items():
            verdicts.setdefault(id_, Verdict("redundant", f"worked up in {name}", name))
        sayings = Sayings([said(one) for one in candidates])
        for place, one in enumerate(candidates):
            if one.id not in verdicts:
                twin = sayings.covering(place)
                if twin is None:
                    verdicts[one.id] = Verdict("supplementary", _named(one))
                else:
                    name = candidates[twin].memory_id
                    verdicts[one.id] = Verdict("redundant", f"said in {name}", name)
            if verdicts[one.id].classification != "redundant":
                sayings.take(place)
        return verdicts


def _named(one: Candidate) -> str:
    """Return why an item may stand in a payload."""
    if not one.earlier:
        return "a need names it"
    return f"a need names it; of no use for {', '.join(one.earlier)}"


def worked_up(makers: Iterable[Candidate], candidates: Iterable[Candidate]) -> dict[int, str]:
    """Return the raw material of candidates: by its id, the name of what was made from it.

    Args:
        makers: Those that may have been made from others.
        candidates: Those that others may have been made from, directly or not.
    """
    made = [one for one in makers if one.derived_from]
    if not made:
        return {}
    by_name = {one.memory_id: one for one in candidates}
    found: dict[int, str] = {}
    for one in made:
        waiting = list(one.derived_from)
        seen = {one.memory_id}
        while waiting:
            name = waiting.pop()
            raw = by_name.get(name)
            if name in seen or raw is None:
                continue
            seen.add(name)
            if raw.memory_type not in NO_MATERIAL:
                found.setdefault(raw.id, one.memory_id)
            waiting += raw.derived_from
    return found
