"""What a changed specification, or another policy, would have earned; said before anybody uses it.

The estimators are those of Dudík, Langford, Li, "Doubly Robust Policy Evaluation and Learning"
(ICML 2011). An action is which needs are kept. With the logged action `a` of propensity `p(a)`,
its reward `r`, and the probability `q(a)` that what is evaluated does the same, `w = q(a) / p(a)`:

```text
IPS    mean of w r
SNIPS  sum of w r / sum of w          biased a little, varies less
DR     mean of m(q) + w (r - m(a))    m: a model of the reward, m(q): what it expects of q
```

IPS and DR are unbiased where the propensities are right and not 0; DR is right, too, where the
model is, and the better the model, the less it varies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from warmset.errors import InvalidInputError
from warmset.route.outcomes import OutcomeRecord, need_names
from warmset.route.spec import TaskSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Chances: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
"""From names of needs to the chance of keeping each; see `LearnedPolicy.after`."""

FOLDS: Final = 5
"""Parts of the outcomes: the reward of each part is expected by a model of the others."""

RIDGE: Final = 1.0
"""What holds the coefficients of the model down; its intercept is free."""

FEW: Final = 30
"""An effective sample size below which an estimate is not to be relied on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What something would have earned, by outcomes of something else.

    Args:
        ips: The mean reward by inverse propensity.
        ips_error: Its standard error.
        snips: The same with weights that sum to 1; NaN if all are 0.
        dr: The mean reward, doubly robust; the one to go by.
        standard_error: Its standard error.
        logged: The mean reward of what was logged, to compare with.
        logged_error: Its standard error.
        effective_sample_size: How many outcomes of its own would say as much: the square of the sum
            of the weights by the sum of their squares.
        n: The number of outcomes.
        unsupported: How many of them could not have had an action of what is evaluated.
        warnings: Why the estimates are not to be relied on, if so.
    """

    ips: float
    ips_error: float
    snips: float
    dr: float
    standard_error: float
    logged: float
    logged_error: float
    effective_sample_size: float
    n: int
    unsupported: int
    warnings: tuple[str, ...] = ()


def evaluate(records: Sequence[OutcomeRecord], target: TaskSpec | Chances, /) -> Evaluation:
    """Estimate what a specification or a policy would have earned where others decided.

    The model of the reward is a ridge regression on which needs were kept, with an intercept; the
    outcomes are cut into five parts, and each is judged by the model of the other four.

    Args:
        records: The outcomes of one task, of `Router.outcomes`; at least two.
        target: A specification of that task, whose needs are all kept, and other ones that were
            logged left out. Or the chance of keeping each need, by a function from their names, as
            of `LearnedPolicy.after`; needs that were always kept are kept then.

    Returns:
        The estimates, with standard errors and warnings.

    Raises:
        InvalidInputError: There are fewer than two outcomes, of several tasks, or not those of the
            specification's task; or a chance is none.
    """
    tasks = {one.task for one in records}
    if len(records) < 2:  # noqa: PLR2004 - for a standard error
        raise InvalidInputError(f"records: expected at least 2 outcomes, found {len(records)}")
    if len(tasks) > 1:
        raise InvalidInputError(f"records: expected those of one task, found {len(tasks)} tasks")
    if isinstance(target, TaskSpec) and tasks != {target.task_type}:
        raise InvalidInputError(
            f"target: the outcomes are of {min(tasks)!r:.80}, not of {target.task_type!r:.80}"
        )
    names = list(dict.fromkeys(name for one in records for name in one.decision.needs))
    fresh: list[str] = []
    if isinstance(target, TaskSpec):
        wanted = need_names(target)
        fresh = [name for name in wanted if name not in names]
        names += fresh
    kept, chance = _logged(records, names)
    keep = _wanted(target, names, kept, chance)
    rewards = np.array([one.reward for one in records], dtype=np.float64)
    does = np.where(kept, keep, 1 - keep)
    weights = (does / chance).prod(axis=1)
    # Keeping a need that was kept with certainty, or absent, leaves the other way no chance.
    could_keep = np.where(kept, chance, 1 - chance)
    impossible = ((keep > 0) & (could_keep <= 0)) | ((keep < 1) & (could_keep >= 1))
    unsupported = impossible.any(axis=1)
    modelled, expected = _expected(kept.astype(np.float64), keep, rewards)
    robust = expected + weights * (rewards - modelled)
    total = float(weights.sum())
    squares = float((weights**2).sum())
    size = total**2 / squares if squares else 0.0
    return Evaluation(
        ips=float((weights * rewards).mean()),
        ips_error=_error(weights * rewards),
        snips=float((weights * rewards).sum()) / total if total else float("nan"),
        dr=float(robust.mean()),
        standard_error=_error(robust),
        logged=float(rewards.mean()),
        logged_error=_error(rewards),
        effective_sample_size=size,
        n=len(records),
        unsupported=int(unsupported.sum()),
        warnings=tuple(_warnings(names, fresh, impossible, size)),
    )


def _logged(
    records: Sequence[OutcomeRecord], names: Sequence[str]
) -> tuple[NDArray[np.bool_], Floats]:
    """Return what was kept, and how probable that was, shape (outcomes, needs).

    A need that a specification did not have was left out, with certainty.
    """
    place = {name: at for at, name in enumerate(names)}
    kept = np.zeros((len(records), len(names)), dtype=np.bool_)
    chance = np.ones((len(records), len(names)), dtype=np.float64)
    for row, record in enumerate(records):
        at = [place[name] for name in record.decision.needs]
        kept[row, at] = record.decision.kept
        chance[row, at] = record.decision.propensities
    return kept, chance


def _wanted(
    target: TaskSpec | Chances, names: Sequence[str], kept: NDArray[np.bool_], chance: Floats
) -> Floats:
    """Return the chance that the target keeps each need, shape (needs,)."""
    if isinstance(target, TaskSpec):
        wanted = frozenset(need_names(target))
        return np.array([float(name in wanted) for name in names], dtype=np.float64)
    found = np.array([float(one) for one in target(names)], dtype=np.float64)
    if found.shape != (len(names),) or not ((found >= 0) & (found <= 1)).all():
        raise InvalidInputError("target: expected a chance from 0 to 1 for each need")
    always = (kept & (chance >= 1)).all(axis=0)
    return np.where(always, 1.0, found)


def _expected(kept: Floats, keep: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """Return the reward that a model expects of each logged action, and of the target."""
    modelled, expected = np.empty(len(rewards)), np.empty(len(rewards))
    part = np.arange(len(rewards)) % min(FOLDS, len(rewards))
    for one in range(int(part.max()) + 1):
        own = part == one
        actions, seen = kept[~own], rewards[~own]
        middle, mean = actions.mean(axis=0), seen.mean()
        centred = actions - middle
        gram = centred.T @ centred + RIDGE * np.eye(kept.shape[1])
        slope = np.linalg.solve(gram, centred.T @ (seen - mean))
        modelled[own] = mean + (kept[own] - middle) @ slope
        expected[own] = mean + (keep - middle) @ slope
    return modelled, expected


def _error(values: Floats) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _warnings(
    names: Sequence[str], fresh: Sequence[str], impossible: NDArray[np.bool_], size: float
) -> list[str]:
    found = [f"need {name} was never tried" for name in fresh]
    for at, name in enumerate(names):
        count = int(impossible[:, at].sum())
        if count and name not in fresh:
            found.append(f"{count} outcomes had no chance of what is wanted of need {name}")
    if size < FEW:
        found.append(f"the effective sample size is {size:.1f}, less than {FEW}")
    return found
