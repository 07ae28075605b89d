"""What each candidate is for the task: the second phase of routing, and the rules that serve it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from warmset._core import terms
from warmset.text.hard_facts import READ, facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warmset.route.candidates import Candidate, Classification
    from warmset.route.request import Request

COVERED: Final = 0.9
"""The share of the terms of a text that another one must have to say the same."""


_DENIED: Final = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n[\'\u2019]t)\b",
    re.IGNORECASE,
)


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
        self, request: Request, candidates: Sequence[Candidate], text: Callable[[Candidate], str]
    ) -> Mapping[int, Verdict]:
        """Return verdicts by the ids of candidates.

        Args:
            request: What the payload is for.
            candidates: The candidates, essential ones first, then by worth.
            text: Returns the text of a candidate.
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
        self, request: Request, candidates: Sequence[Candidate], text: Callable[[Candidate], str]
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
        read = _Read()
        for one in candidates:
            if one.id not in verdicts:
                twin = read.covering(text(one))
                verdicts[one.id] = (
                    Verdict("supplementary", _named(one))
                    if twin is None
                    else Verdict("redundant", f"said in {twin}")
                )
            if verdicts[one.id].classification != "redundant":
                read.add(one.memory_id, text(one))
        return verdicts


class _Read:
    """Texts that are taken, by the terms that they have."""

    def __init__(self) -> None:
        self._taken: list[tuple[str, frozenset[str], int]] = []
        self._same: dict[str, str] = {}
        self._with: dict[str, list[int]] = {}
        self._facts: set[str] = set()

    def add(self, name: str, text: str) -> None:
        found = frozenset(terms(text))
        for term in found:
            self._with.setdefault(term, []).append(len(self._taken))
        self._taken.append((name, found, _denials(text)))
        self._same.setdefault(text, name)
        self._facts |= facts_of(text)

    def covering(self, text: str) -> str | None:
        """Return the name of a text that says the same; None if there is none."""
        if len(text) > READ:  # not all of its facts are known
            return self._same.get(text)
        own = frozenset(terms(text))
        if not own:
            return None
        shared: dict[int, int] = {}
        for term in own:
            for place in self._with.get(term, ()):
                shared[place] = shared.get(place, 0) + 1
        best = max(shared, key=lambda place: (shared[place], -place), default=None)
        if best is None or shared[best] < COVERED * len(own):
            return None
        name, _terms, denials = self._taken[best]
        is_same = denials == _denials(text) and facts_of(text) <= self._facts
        return name if is_same else None


def _named(one: Candidate) -> str:
    """Return why an item may stand in a payload."""
    if not one.earlier:
        return "a need names it"
    return f"a need names it; of no use for {', '.join(one.earlier)}"


def _denials(text: str) -> int:
    """Return how often a text says no."""
    return len(_DENIED.findall(text))


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
