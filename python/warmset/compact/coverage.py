"""How far each turn is known elsewhere: in stored memories, and in later turns that stay.

A later turn counts only while it stays, and whether it stays depends on what counts. So at first
every later turn that says the same counts; the choice is made; those that did not stay are struck
out, and the choice is made again, until all that count stay. Nothing is ever put back, so this
ends, and the same list always ends the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from warmset.compact.keeper import Known
    from warmset.compact.reading import Read
    from warmset.compact.vectors import VectorCache
    from warmset.compact.weights import CompactWeights

NEAREST: Final = 3
"""The memories that are looked at for each turn."""

_ROUNDS: Final = 8
"""After so many choices only turns that must stay count as memory."""

_Cover = tuple[float, frozenset[str]]


class Coverage:
    """What covers the turns of a list.

    Args:
        reads: What is known of each turn.
        slots: Where their vectors are; -1 for those without one.
        cache: The vectors.
        known: The stored memories.
        weights: The least cosine of two turns that say the same, and whether facts are checked.
    """

    def __init__(
        self,
        reads: Sequence[Read],
        slots: NDArray[np.int64],
        cache: VectorCache,
        known: Known | None,
        weights: CompactWeights,
    ) -> None:
        self._reads = reads
        self._check = weights.fact_check
        self._memories: dict[int, list[_Cover]] = {}
        self._base = np.zeros(len(reads))
        if known is not None:
            self._remember(known, slots, cache)
        self._at: dict[int, list[int]] = {}
        self._near: dict[int, list[tuple[float, int]]] = {}
        self._twins(slots, cache.twins(slots, weights.same))

    def settle(
        self, choose: Callable[[NDArray[np.float64]], NDArray[np.bool_]], must: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Find the coverage in which every later turn that counts stays.

        Args:
            choose: Tells which turns stay, given their coverage.
            must: Which ones stay anyway.

        Returns:
            The coverage, with which `choose` was called last.
        """
        last = {slot: places[-1] for slot, places in self._at.items()}
        for round_ in range(_ROUNDS + 2):
            coverage = self.of(last)
            stays = choose(coverage) if round_ < _ROUNDS else must
            gone = [slot for slot, at in last.items() if at >= 0 and not stays[at]]
            for slot in gone:
                earlier = (at for at in reversed(self._at[slot]) if at < last[slot] and stays[at])
                last[slot] = next(earlier, -1)
            if not gone:
                break
            if np.array_equal(self.of(last), coverage):
                return coverage  # nobody counted on those that left
        coverage = self.of(last)
        choose(coverage)
        return coverage

    def of(self, last: dict[int, int]) -> NDArray[np.float64]:
        """Return the coverage of each turn.

        Args:
            last: For each text that may count, the last place where it is and counts; -1 for none.
        """
        if not self._near:
            return self._base
        out = self._base.copy()
        for at, twins in self._near.items():
            said = [(cosine, slot) for cosine, slot in twins if last[slot] > at]
            if said:
                covers = [(cosine, self._hard(slot)) for cosine, slot in said]
                out[at] = self._covered(at, [*covers, *self._memories.get(at, ())])
        return out

    def _remember(self, known: Known, slots: NDArray[np.int64], cache: VectorCache) -> None:
        there = np.flatnonzero(slots >= 0)
        ids, scores, counts = known.nearest(cache.rows(slots[there]), NEAREST)
        rows = zip(there.tolist(), ids.tolist(), scores.tolist(), counts.tolist(), strict=True)
        for at, near, cosines, count in rows:
            pairs = zip(near[:count], cosines[:count], strict=True)
            self._memories[at] = [(cosine, known.hard(id_)) for id_, cosine in pairs]
            self._base[at] = self._covered(at, self._memories[at])

    def _twins(self, slots: NDArray[np.int64], twins: dict[int, list[tuple[float, int]]]) -> None:
        distinct, counts = np.unique(slots[slots >= 0], return_counts=True)
        wanted = {slot: [(1.0, slot)] for slot in distinct[counts > 1].tolist()} | twins
        if not wanted:
            return
        for at in np.flatnonzero(np.isin(slots, list(wanted))).tolist():
            slot = int(slots[at])
            self._at.setdefault(slot, []).append(at)
            self._near[at] = wanted[slot]

    def _hard(self, slot: int) -> frozenset[str]:
        return self._reads[self._at[slot][0]].hard

    def _covered(self, at: int, covers: list[_Cover]) -> float:
        """Return the highest cosine among the nearest; 0 if a fact is in none of those."""
        near = sorted(covers, key=lambda cover: -cover[0])[:NEAREST]
        if not near or near[0][0] <= 0:
            return 0.0
        if self._check:
            said = frozenset[str]().union(*(facts for _, facts in near))
            if not self._reads[at].hard <= said:
                return 0.0
        return min(near[0][0], 1.0)
