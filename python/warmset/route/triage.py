"""What each candidate is for the task: the second phase of routing, and the rules that serve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, get_args

from warmset.compact.distil import MEMORY_TYPES
from warmset.errors import InvalidInputError
from warmset.route.candidates import Classification
from warmset.route.likeness import Likeness
from warmset.route.said import Sayings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from warmset.route.candidates import Candidate
    from warmset.route.judgement import Judgement
    from warmset.route.likeness import RowsOf
    from warmset.route.request import Request
    from warmset.route.texts import Texts

_WORDS: Final = get_args(Classification)

MOST_REASON: Final = 200
"""The most characters of a reason."""

NO_MATERIAL: Final = frozenset({"module_output", "user_context", "error_fix", *MEMORY_TYPES})
"""Types that are no raw material: what was made with such an item need not say what it says."""

BY_NEED: Final = "an essential need names it"
"""Why what is essential is so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a candidate is for the task.

    Args:
        classification: "essential", "supplementary", "redundant" or "irrelevant".
        reason: Why, in a few words; it becomes one line of at most 200 characters.
        first: Whether it is chosen before other supplementary ones.
        twin: The id of the candidate that stands for a redundant one; None if nobody knows it.

    Raises:
        InvalidInputError: It is none of these words, or the reason is no text.
    """

    classification: Classification
    reason: str
    first: bool = False
    twin: int | None = None

    def __post_init__(self) -> None:
        if self.classification not in _WORDS:
            known = ", ".join(_WORDS)
            raise InvalidInputError(
                f"classification: expected one of {known}, found {self.classification!r:.80}"
            )
        if not isinstance(self.reason, str):
            raise InvalidInputError(f"reason: expected a text, found {self.reason!r:.80}")
        if len(self.reason) > MOST_REASON or not self.reason.isprintable():
            object.__setattr__(self, "reason", _line(self.reason))


_NAMED: Final = Verdict("supplementary", "a need names it")
_ESSENTIAL: Final = Verdict("essential", BY_NEED)


class Triage(Protocol):
    """Judges candidates.

    The rules hold whatever it says. What an essential need names is essential, and what the rules
    call redundant stays so. What a triage calls essential is chosen before other supplementary
    items, but is never the reason of `BudgetTooSmall`. What it calls redundant is left out only if
    each of its numbers, names and paths is in what is kept. What it does not judge, the rules do,
    and so they do if it raises an exception or returns something else.
    """

    def judge(
        self, request: Request, candidates: Sequence[Candidate], text: Texts
    ) -> Mapping[int, Verdict] | Judgement:
        """Return verdicts by the ids of candidates, or a `Judgement` that says what it took.

        Args:
            request: What the payload is for.
            candidates: The candidates that the rules do not call redundant, essential ones first,
                then by worth.
            text: Returns the text of a candidate.
        """
        ...


class RuleTriage:
    """Judges without a model: by priority, by what was worked up, and by what others say already.

    - What an essential need names is essential, whatever else holds.
    - What another candidate was made from is redundant: its worked-up form stands for it. Not so
      outputs of modules, what the user settled, fixes and memories: they are no raw material.
    - A text is redundant if at least nine tenths of its terms are in one that is worth more, or the
      cosine of their vectors is at least 0.95; provided that both deny equally often, and that each
      of its numbers, names and paths is in what is worth more.
    - All else is supplementary.

    Args:
        vectors: Returns the vectors of candidates by id, shape (passages, dim), of those that have
            any; None to compare words alone. A router's own rules use those of the store.
    """

    def __init__(self, vectors: RowsOf | None = None) -> None:
        self._vectors = vectors

    def judge(
        self, request: Request, candidates: Sequence[Candidate], text: Texts
    ) -> Mapping[int, Verdict]:
        """Return a verdict for each candidate, by its id."""
        del request
        verdicts: dict[int, Verdict] = {}
        for one in candidates:
            if one.priority == "essential":
                verdicts[one.id] = _ESSENTIAL
        for id_, maker in worked_up(candidates, candidates).items():
            reason = f"worked up in {maker.memory_id}"
            verdicts.setdefault(id_, Verdict("redundant", reason, twin=maker.id))
        sayings = Sayings([text.said(one) for one in candidates], self._alike(candidates))
        for place, one in enumerate(candidates):
            known = verdicts.get(one.id)
            if known is not None and known.classification == "redundant":
                continue
            twin = sayings.covering(place) if known is None else None
            if twin is not None:
                other = candidates[twin]
                reason = f"said in {other.memory_id}"
                verdicts[one.id] = Verdict("redundant", reason, twin=other.id)
                continue
            if known is None:
                verdicts[one.id] = _named(one)
            sayings.take(place)
        return verdicts

    def _alike(self, candidates: Sequence[Candidate]) -> Callable[[int], Iterable[int]] | None:
        """Return what tells which candidates mean the same, by their places."""
        if self._vectors is None:
            return None
        likeness = Likeness(self._vectors, candidates)
        places = {one.id: place for place, one in enumerate(candidates)}
        return lambda place: [places[id_] for id_ in likeness.near(candidates[place].id)]


def _named(one: Candidate) -> Verdict:
    """Return that an item may stand in a payload, and why."""
    if not one.earlier:
        return _NAMED
    reason = f"{_NAMED.reason}; of no use for {', '.join(one.earlier)}"
    return Verdict("supplementary", reason)


def _line(text: str) -> str:
    """Return a text as one line without control characters, cut."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * MOST_REASON])
    line = " ".join(plain.split())
    return line if len(line) <= MOST_REASON else f"{line[: MOST_REASON - 1]}…"


def worked_up(makers: Iterable[Candidate], candidates: Iterable[Candidate]) -> dict[int, Candidate]:
    """Return the raw material of candidates: by its id, what was made from it.

    Args:
        makers: Those that may have been made from others.
        candidates: Those that others may have been made from, directly or not.
    """
    made = [one for one in makers if one.derived_from]
    if not made:
        return {}
    by_name = {one.memory_id: one for one in candidates}
    found: dict[int, Candidate] = {}
    for one in made:
        for name in ancestors(one, by_name):
            raw = by_name[name]
            if raw.memory_type not in NO_MATERIAL:
                found.setdefault(raw.id, one)
    return found


def ancestors(one: Candidate, by_name: Mapping[str, Candidate]) -> list[str]:
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
