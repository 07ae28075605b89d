"""Coverage: how far each turn's content is also in stored memories, and in later turns that stay.

A later turn counts only if it stays, and whether it stays depends on what counts. So at first every
later turn of the same content counts; after each choice, those that did not stay are removed and
the choice is repeated, until all that count stay. Nothing is ever added back, so this terminates,
and equal lists give equal results.
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
"""After this number of choices, only turns that must stay count."""


class Coverage:
    """Computes the coverage of the turns of a list.

    Args:
        reads: What was read of each turn.
        slots: The slots of their vectors; -1 for turns without one.
        cache: The vectors.
        known: The stored memories.
        weights: Has the least cosine of two turns of the same content, and whether facts are
            checked.
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
            choose: Returns which turns stay, given their coverage.
            must: Which turns must stay.

        Returns:
            The coverage with which `choose` was called last.
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
