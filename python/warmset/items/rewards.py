"""How well a fix of an error worked, and what is to be expected of it the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FIX: Final = "error_fix"
"""The type of items whose outcomes are counted."""

TRUSTED: Final[frozenset[str]] = frozenset(("user", "assistant"))
"""Origins whose fixes are used before an outcome was reported, and whose claims count."""

UNKNOWN: Final = 0.5
"""What is expected of a fix that nobody tried: the mean of the prior."""


def expected_reward(mean: float | None, outcomes: int, origin: str | None) -> float:
    """Return the reward that is expected of a fix: the mean of a Beta posterior.

    The prior is Beta(1, 1), every mean reward being as likely as another one, so with n rewards
    it is `(1 + sum of the rewards) / (2 + n)`. What was said when the fix was stored counts as one
    reward until there is an outcome; what was seen takes the place of what was claimed. Of a tool,
    the web and an import a claim counts for nothing.

    Args:
        mean: The mean of its rewards, 0 to 1; None if nobody said.
        outcomes: How many outcomes the mean is of; 0 if it was said when the fix was stored.
        origin: Whose words the fix has.
    """
    if mean is None or (not outcomes and origin not in TRUSTED):
        return UNKNOWN
    count = max(outcomes, 1)
    return (1 + mean * count) / (2 + count)


def reward_columns(mean: float, outcomes: int, origin: str | None) -> dict[str, float | int]:
    """Return the columns that say how well a fix worked.

    The core ranks by "reward", so that is what is expected; the plain mean lies beside it.
    """
    expected = expected_reward(mean, outcomes, origin)
    found: dict[str, float | int] = {"reward": expected, "mean": mean}
    return found | {"outcomes": outcomes} if outcomes else found


def mean_of(columns: Mapping[str, Any]) -> float | None:
    """Return the mean reward that columns of an item say; None if they say none."""
    found = columns.get("mean", columns.get("reward"))
    return None if found is None else float(found)


def after_outcome(columns: Mapping[str, Any], reward: float) -> dict[str, Any]:
    """Return the columns of a fix that had one more outcome."""
    count = int(columns.get("outcomes") or 0)
    before = (mean_of(columns) or 0.0) if count else 0.0
    mean = before + (reward - before) / (count + 1)
    mean = min(max(mean, 0.0), 1.0)
    return {**columns, **reward_columns(mean, count + 1, columns.get("origin"))}
