"""Which items say the same as others, and can be merged into them.

An item is said in another one of its type and scope if that has all of its numbers, names, paths
and labels, denies as often, and is no less trusted; and if the cosine of both reaches the
threshold, or, without vectors, at least nine tenths of its terms are there.

So only items that share its rarest fact can say the same. Where these are many, only those with
some of its rarest terms are looked at, or, with vectors, the nearest.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import HotIndex, content_hash
from warmset.items.item import ORIGINS
from warmset.text.said import COVERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset._core import Held
    from warmset.embed import Vectors
    from warmset.text.said import Said

SCOPE: Final = ("type", "conversation", "session", "module", "pipeline")
"""Columns in which items that say the same must be equal."""

_LABELS: Final = ("sections", "keys", "entities")
_MANY: Final = 64
"""So many items with the same fact are compared without another choice among them."""

_NEAREST: Final = 16
_SHARED: Final = 3
"""So many rare terms two items must share to be compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """An item that was read.

    Args:
        held: What is known of it.
        said: What it says.
        vector: The vector of its whole text, shape (dim,), of length 1; None if there is none.
        used: When it was last used, in microseconds since 1970 UTC; None if never.
        may_go: Whether it may be merged into another one.
    """

    held: Held
    said: Said
    vector: Vectors | None
    used: int | None
    may_go: bool

    @property
    def worth(self) -> tuple[bool, int, float, int, int, int, int]:
        """By this items are kept, the highest first."""
        held = self.held
        reward = 0.5 if held.reward is None else held.reward  # as likely as not
        return (
            self.used is not None,
            self.used or 0,
            reward,
            held.at,
            len(self.said.facts),
            len(self.said.text),
            -held.id,
        )


def merged(some: Sequence[Read], similarity: float) -> list[tuple[Read, Read, str]]:
    """Return which items say the same as others, of one type and scope.

    Args:
        some: The items.
        similarity: The least cosine of two that say the same.

    Returns:
        Each with the item that it is merged into, and the reason. What was used last, else has the
        highest reward, else is the newest stays.
    """
    listed = sorted(some, key=lambda one: one.worth, reverse=True)
    seen = _Kept(listed, similarity)
    found: list[tuple[Read, Read, str]] = []
    for place, one in enumerate(listed):
        into = seen.saying(place) if one.may_go else None
        if into is None:
            seen.add(place)
        else:
            found.append((one, *into))
    return found


class _Kept:
    """Items that stay, by the facts and terms that they have."""

    def __init__(self, some: Sequence[Read], similarity: float) -> None:
        self._some = some
        self._similarity = similarity
        self._often = Counter(term for one in some for term in one.said.terms)
        self._texts: dict[bytes, list[int]] = defaultdict(list)
        self._facts: dict[str, list[int]] = defaultdict(list)
        self._terms: dict[str, list[int]] = defaultdict(list)
        self._near: dict[int, list[int]] | None = None
        self._there: set[int] = set()

    def add(self, place: int) -> None:
        """Keep an item."""
        said = self._some[place].said
        self._there.add(place)
        self._texts[_digest(said.text)].append(place)
        for fact in said.facts:
            self._facts[fact].append(place)
        for term in said.terms:
            self._terms[term].append(place)

    def saying(self, place: int) -> tuple[Read, str] | None:
        """Return an item that stays and says what another one does, and the reason."""
        one = self._some[place]
        for other in self._texts.get(_digest(one.said.text), ()):
            if self._some[other].said.text == one.said.text and _replaces(self._some[other], one):
                return self._some[other], "the same text"
        if one.said.is_long or not one.said.terms:
            return None
        for other in self._alike(place):
            reason = self._reason(one, self._some[other])
            if reason is not None:
                return self._some[other], reason
        return None

    def _alike(self, place: int) -> list[int]:
        """Return the items that may say the same, the best first."""
        one = self._some[place]
        shared = [self._facts.get(fact, []) for fact in one.said.facts]
        with_fact = min(shared, key=len) if shared else None
        if with_fact is not None and len(with_fact) <= _MANY:
            return with_fact
        alike = self._with_rare_terms(one) if one.vector is None else self._nearest(place)
        return sorted(alike)

    def _with_rare_terms(self, one: Read) -> list[int]:
        """Return the items with as many of the rarest terms as another one must have of them."""
        rare = sorted(one.said.terms, key=lambda term: (self._often[term], term))
        least = min(_SHARED, len(rare) - one.said.spare)
        shared: Counter[int] = Counter()
        for term in rare[: one.said.spare + least]:
            shared.update(self._terms.get(term, ()))
        return [other for other, count in shared.items() if count >= least]

    def _nearest(self, place: int) -> list[int]:
        """Return the items with the nearest vectors, and those without any."""
        if self._near is None:
            self._near = _neighbours(self._some, self._similarity)
        near = [other for other in self._near.get(place, ()) if other in self._there]
        bare = [
            other
            for other in self._with_rare_terms(self._some[place])
            if self._some[other].vector is None
        ]
        return [*near, *bare]

    def _reason(self, one: Read, other: Read) -> str | None:
        """Return why an item says all that another one does; None if it does not."""
        if other.said.is_long or not _replaces(other, one):
            return None
        if other.said.denials != one.said.denials or not one.said.facts <= other.said.facts:
            return None
        if one.vector is not None and other.vector is not None:
            cosine = float(np.dot(one.vector, other.vector))
            return (
                f"the same facts, similarity {cosine:.3f}" if cosine >= self._similarity else None
            )
        shared = len(one.said.terms & other.said.terms)
        if shared < math.ceil(COVERED * len(one.said.terms)):
            return None
        return f"the same facts, {shared} of {len(one.said.terms)} terms"


def _replaces(other: Read, one: Read) -> bool:
    """Return whether whoever asks for an item by its labels and origin finds the other one, too."""
    return ORIGINS.index(other.held.origin) <= ORIGINS.index(one.held.origin) and all(
        frozenset(one.held.names(column)) <= frozenset(other.held.names(column))
        for column in _LABELS
    )


def _digest(text: str) -> bytes:
    return content_hash(text.encode("utf-8", "surrogatepass"))


def _neighbours(some: Sequence[Read], similarity: float) -> dict[int, list[int]]:
    """Return for each item with a vector the places of those that are as similar."""
    vectors = {place: one.vector for place, one in enumerate(some) if one.vector is not None}
    if not vectors:
        return {}
    rows = np.stack(list(vectors.values()))
    places = list(vectors)
    index = HotIndex(rows.shape[1])
    index.add(places, rows)
    ids, scores, counts = index.search_batch(rows, _NEAREST)
    return {
        place: ids[at, :count][scores[at, :count] >= similarity - 1e-3].tolist()
        for at, (place, count) in enumerate(zip(places, counts.tolist(), strict=True))
    }
