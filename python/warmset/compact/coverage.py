"""How far each turn is known elsewhere: in stored memories, and in later turns that stay.

A later turn counts only while it stays, and whether it stays depends on what counts. So at first
every later turn that says the same counts; the choice is made; those that did not stay are struck
out, and the choice is made again, until all that count stay. Nothing is ever put back, so this
ends, and the same list always ends the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._core import Coverage as CoreCoverage
from warmset.text.hard_facts import fact_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warmset.compact.keeper import Known
    from warmset.compact.reading import Reads
    from warmset.compact.vectors import VectorCache
    from warmset.compact.weights import CompactWeights

_ROUNDS: Final = 8
"""After so many choices only turns that must stay count as memory."""


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
        reads: Reads,
        slots: NDArray[np.int64],
        cache: VectorCache,
        known: Known | None,
        weights: CompactWeights,
    ) -> None:
        sayings = cache.sayings
        if weights.fact_check:
            for at in sayings.lacking(slots).tolist():
                sayings.state(int(slots[at]), fact_numbers(reads[at].facts.text))
        self._covers = CoreCoverage(
            slots,
            sayings,
            same=weights.same,
            check=weights.fact_check,
            crowded=cache.crowded(slots, weights.same),
            near=None if known is None else known.covers(cache, slots),
        )

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
        coverage = self._covers.now()
        for _ in range(_ROUNDS):
            self._covers.strike(choose(coverage))
            before, coverage = coverage, self._covers.now()
            if np.array_equal(coverage, before):
                return coverage
        self._covers.strike(must)
        coverage = self._covers.now()
        choose(coverage)
        return coverage
