"""What texts say, compared: whether one is said in another, word for word or nearly so.

A text has a signature of 256 bits, one for each of its terms. Of what is said in another text
nearly all bits are set there, too, so that few pairs are looked at term by term, and no pair is
missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset.text.said import COVERED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from warmset.text.said import Said


class Sayings:
    """Texts in an order, of which each may be said in earlier ones that are taken.

    Args:
        some: What they say.
        alike: Returns the places of the texts that mean the same as one; None if nobody can tell.
    """

    def __init__(
        self, some: Sequence[Said], alike: Callable[[int], Iterable[int]] | None = None
    ) -> None:
        self._some = some
        self._alike = alike
        self._taken: list[int] = []
        self._facts: set[str] = set()
        self._near = _near(some)
        self._long: dict[str, int] = {}

    def take(self, place: int) -> None:
        """Take the text of a place: what it says is said."""
        self._taken.append(place)
        self._facts |= self._some[place].facts
        if self._some[place].is_long:
            self._long.setdefault(self._some[place].text, place)

    def covering(self, place: int) -> int | None:
        """Return the place of a taken text that says the same; None if there is none.

        It has nine tenths of the terms, or means the same, and says no as often; each number, name
        and path is in some text that is taken.
        """
        own = self._some[place]
        if own.is_long:
            return self._long.get(own.text)
        if not own.terms or not own.facts <= self._facts:
            return None
        twins = self._twins(place, own)
        return next((one for one in twins if self._some[one].denials == own.denials), None)

    def _twins(self, place: int, own: Said) -> Iterator[int]:
        """Return the taken texts that may say the same: by terms, then by meaning."""
        near = self._near.get(place, frozenset())
        best, most = None, 0
        for other in (one for one in self._taken if one in near) if near else ():
            shared = len(own.terms & self._some[other].terms)
            if shared > most:
                best, most = other, shared
        if best is not None and most >= COVERED * len(own.terms):
            yield best
        if self._alike is not None:
            alike = frozenset(self._alike(place))
            yield from (one for one in self._taken if one in alike and one != best)


def _near(some: Sequence[Said]) -> dict[int, frozenset[int]]:
    """Return the places of the texts that each may be said in, where there are any."""
    if not some:
        return {}
    bits = np.stack([one.signature for one in some])
    lacking = np.zeros((len(some), len(some)), np.uint16)
    for word in bits.T:
        lacking += np.bitwise_count(word[:, None] & ~word[None, :])
    near = lacking <= np.array([one.spare for one in some])[:, None]
    np.fill_diagonal(near, val=False)
    return {
        place: frozenset(np.flatnonzero(near[place]).tolist())
        for place in np.flatnonzero(near.any(axis=1)).tolist()
    }
