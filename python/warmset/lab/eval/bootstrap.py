"""How far a mean over questions can be trusted, given that conversations differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DRAWS: Final = 2_000
LEVEL: Final = 0.95
SEED: Final = 7


def interval(values: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a mean (Efron 1979), by conversation.

    Questions of one conversation are not independent, so whole conversations are drawn again, as
    many as there are, and each draw's mean is over all of its questions.

    Args:
        values: The values of each conversation's questions.

    Returns:
        Both ends at 95 %; None with fewer than two conversations.
    """
    groups = [found for found in values.values() if found]
    if len(groups) < 2:  # noqa: PLR2004 - one conversation cannot differ from another
        return None
    sums = np.array([sum(found) for found in groups])
    counts = np.array([len(found) for found in groups])
    drawn = np.random.default_rng(SEED).integers(len(groups), size=(DRAWS, len(groups)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
