"""What each candidate is for the task: the second phase of routing, and the rules that serve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from warmset.route.said import Sayings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warmset.route.candidates import Candidate, Classification
    from warmset.route.request import Request
    from warmset.text.said import Said


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a candidate is for the task.

    Args:
        classification: "essential", "supplementary", "redundant" or "irrelevant".
        reason: Why, in a few words.
    """

    classification: Classification
    reason: str


class Triage(Protocol):
    """Judges candidates; what it does not judge, the rules do."""

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
    - What another candidate was made from is redundant: its worked-up form stands for it.
    - A text is redundant if at least nine tenths of its terms are in one that is worth more, and
      each of its numbers, names and paths is in what is worth more.
    - All else is supplementary.
    """

    def judge(
        self, request: Request, candidates: Sequence[Candidate], said: Callable[[Candidate], Said]
    ) -> Mapping[int, Verdict]:
        """Return a verdict for each candidate, by its id."""
        del request
        by_name = {one.memory_id: one for one in candidates}
        verdicts: dict[int, Verdict] = {}
        for one in candidates:
            if one.priority == "essential":
                verdicts[one.id] = Verdict("essential", "an essential need names it")
        for one in candidates:
            for name in _ancestors(one, by_name):
                raw = by_name[name]
                if raw.id not in verdicts:
                    reason = f"worked up in {one.memory_id}"
                    verdicts[raw.id] = Verdict("redundant", reason)
        sayings = Sayings([said(one) for one in candidates])
        for place, one in enumerate(candidates):
            if one.id not in verdicts:
                twin = sayings.covering(place)
                verdicts[one.id] = (
                    Verdict("supplementary", _named(one))
                    if twin is None
                    else Verdict("redundant", f"said in {candidates[twin].memory_id}")
                )
            if verdicts[one.id].classification != "redundant":
                sayings.take(place)
        return verdicts


def _named(one: Candidate) -> str:
    """Return why an item may stand in a payload."""
    if not one.earlier:
        return "a need names it"
    return f"a need names it; of no use for {', '.join(one.earlier)}"


def _ancestors(one: Candidate, by_name: Mapping[str, Candidate]) -> list[str]:
    """Return the candidates that one was made from, and those that they were made from."""
    found: list[str] = []
    waiting = list(one.derived_from)
    seen = {one.memory_id}
    while waiting:
        name = waiting.pop()
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        found.append(name)
        waiting += by_name[name].derived_from
    return found
