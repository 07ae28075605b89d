"""The measures of one window or ranking: evidence recall, three ways, and answer coverage."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from warmset._core import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Seen:
    """What a window or a ranking had for a question.

    Args:
        fraction: The part of the evidence that is there; LoCoMo's recall.
        all: Whether all of it is there, 0 or 1.
        any: Whether some of it is there, 0 or 1.
        gac: Grounded answer coverage; None where it is not defined.
        tokens: What it cost beside the question; None for a ranking, which is not sent.
    """

    fraction: float
    all: float
    any: float
    gac: float | None
    tokens: int | None = None


def recall(evidence: Collection[int], there: Collection[int]) -> tuple[float, float, float]:
    """Return fraction, all and any of evidence recall.

    Args:
        evidence: What answers the question, at least one.
        there: What a window shows.
    """
    found = sum(one in there for one in evidence)
    return found / len(evidence), float(found == len(evidence)), float(found > 0)


class Coverage:
    """Grounded answer coverage: how much of the answer the retrieved evidence carries.

    The answer's terms that the question does not have (all of them, if it has every one) and that
    stand in the evidence are weighed by idf, ln(1 + n / (df + 0.5)) over the conversation's turns;
    the measure is the part of that weight that stands in the evidence turns which are there. It is
    not defined where the evidence carries no such term.

    Args:
        texts: What the turns say, in order.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._terms = [frozenset(terms(text)) for text in texts]
        self._in = Counter(term for found in self._terms for term in found)

    def of(
        self, question: str, answer: str, evidence: Collection[int], there: Collection[int]
    ) -> float | None:
        """Return the coverage of one answer.

        Args:
            question: What was asked.
            answer: The gold answer.
            evidence: Positions of the turns that answer it.
            there: Positions of the turns that a window shows.
        """
        asked = set(terms(question))
        said = dict.fromkeys(terms(answer))
        wanted = [term for term in said if term not in asked] or list(said)
        grounded = self._join(evidence)
        whole = sum(self._weight(term) for term in wanted if term in grounded)
        if not whole:
            return None
        delivered = self._join(place for place in evidence if place in there)
        kept = [term for term in wanted if term in grounded and term in delivered]
        return sum(self._weight(term) for term in kept) / whole

    def _join(self, places: Iterable[int]) -> frozenset[str]:
        return frozenset[str]().union(*(self._terms[place] for place in places))

    def _weight(self, term: str) -> float:
        return math.log1p(len(self._terms) / (self._in[term] + 0.5))


def area(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the area under recall over the logarithm of cost, as a part of the most it could be.

    Args:
        points: Budgets and recalls.

    Returns:
        0 to 1, by the trapezoidal rule; None with fewer than two budgets.
    """
    ordered = [(math.log(cost), value) for cost, value in sorted(points)]
    if len(ordered) < 2:  # noqa: PLR2004 - an area has two sides
        return None
    pairs = pairwise(ordered)
    under = sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairs)
    return under / (ordered[-1][0] - ordered[0][0])
