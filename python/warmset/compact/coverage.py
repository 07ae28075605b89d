"""How far each turn is known elsewhere: in stored memories, and in later turns that stay.

A later turn counts only while it stays, and whether it stays depends on what counts. So at first
every later turn that says the same counts; the choice is made; those that did not stay are struck
out, and the choice is made again, until all that count stay. Nothing is ever put back, so this
ends, and the same list always ends the same.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
        self._hard: dict[int, frozenset[str]] = {}
        self._used: defaultdict[int, set[int]] = defaultdict(set)
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
        coverage = self._base.copy()
        self._cover(self._near, last, coverage)
        for round_ in range(_ROUNDS + 1):
            stays = choose(coverage) if round_ < _ROUNDS else must
            gone = [slot for slot, at in last.items() if at >= 0 and not stays[at]]
            for slot in gone:
                earlier = (at for at in reversed(self._at[slot]) if at < last[slot] and stays[at])
                last[slot] = next(earlier, -1)
            # Only what counted on one that left can be covered less: nothing else is looked at.
            before = coverage
            coverage = before.copy()
            self._cover({at for slot in gone for at in self._used[slot]}, last, coverage)
            if np.array_equal(coverage, before):
                return coverage
        choose(coverage)
        return coverage

    def _cover(
        self, places: Iterable[int], last: dict[int, int], coverage: NDArray[np.float64]
    ) -> None:
        """Write the coverage of some turns.

        Args:
            places: The turns.
            last: For each text that may count, the last place where it is and counts; -1 for none.
            coverage: Where to write.
        """
        hard, used = self._hard, self._used
        for at in places:
            covers: list[_Cover] = []
            for cosine, slot in self._near[at]:
                if last[slot] > at:
                    covers.append((cosine, hard[slot]))
                    used[slot].add(at)
                    if len(covers) == NEAREST:
                        break
            memories = self._memories.get(at)
            if memories:
                covers += memories
            coverage[at] = self._covered(at, covers) if covers else 0.0

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
            places = self._at.setdefault(slot, [])
            if not places:
                self._hard[slot] = self._reads[at].hard
            places.append(at)
            self._near[at] = wanted[slot]

    def _covered(self, at: int, covers: list[_Cover]) -> float:
        """Return the highest cosine among the nearest; 0 if a fact is in none of those."""
        if len(covers) > 1:
            covers.sort(key=_cosine, reverse=True)
        if not covers or covers[0][0] <= 0:
            return 0.0
        if self._check:
            left = self._reads[at].hard
            for _, facts in covers[:NEAREST]:
                if not left:
                    break
                left = left - facts
            if left:
                return 0.0
        return min(covers[0][0], 1.0)


def _cosine(cover: _Cover) -> float:
    return cover[0]
