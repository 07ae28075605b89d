"""What texts say, compared: whether one is said in another, word for word or nearly so.

A text has a signature of 512 bits, one for each of its terms. Of what is said in another text
nearly all bits are set there, too, so that few pairs are looked at term by term, and no pair is
missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset.text.said import COVERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.text.said import Said


class Sayings:
    """Texts in an order, of which each may be said in earlier ones that are taken.

    Args:
        some: What they say.
    """

    def __init__(self, some: Sequence[Said]) -> None:
        self._some = some
        self._taken: list[int] = []
        self._near = _near(some)
        self._long: dict[str, int] = {}

    def take(self, place: int) -> None:
        """Take the text of a place: what it says is said."""
        self._taken.append(place)
        if self._some[place].is_long:
            self._long.setdefault(self._some[place].text, place)

    def covering(self, place: int) -> int | None:
        """Return the place of a taken text that says the same; None if there is none.

        It has nine tenths of the terms, and says no as often; each number, name and path is in
        some text that is taken.
        """
        own = self._some[place]
        if own.is_long:
            return self._long.get(own.text)
        if not own.terms:
            return None
        best, most = None, 0
        near = self._near.get(place)
        if near is None:
            return None
        for other in (one for one in self._taken if one in near):
            shared = len(own.terms & self._some[other].terms)
            if shared > most:
                best, most = other, shared
        if best is None or most < COVERED * len(own.terms):
            return None
        if self._some[best].denials != own.denials:
            return None
        lacking = own.facts - self._some[best].facts
        is_said = all(any(fact in self._some[one].facts for one in self._taken) for fact in lacking)
        return best if is_said else None


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
