"""A policy that learns from outcomes which needs of a task are worth their tokens.

```text
outcomes of the task ─▶ reward with and without each need ─▶ chance to keep it ─▶ drawn, logged
```
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from math import erf, sqrt
from typing import TYPE_CHECKING, Final, Protocol

from warmset._core import content_hash
from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError
from warmset.items.new import as_json
from warmset.route.outcomes import Decision, essential, need_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.route.outcomes import OutcomeRecord
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

EXPLORATION: Final = 0.1
"""How often a need is treated in the other way than the one that looks better."""

TRIALS: Final = 20
"""The outcomes with a need, and without it, before it may be left out for good reason."""


class Policy(Protocol):
    """Says which needs of a specification a payload is made for."""

    def decide(
        self, spec: TaskSpec, request: Request, records: Sequence[OutcomeRecord], /
    ) -> Decision:
        """Return a decision; what it says of essential needs does not count.

        Args:
            spec: What the task needs.
            request: What the payload is for.
            records: The outcomes of the task so far, the oldest first.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPolicy:
    """Keeps each need that is not essential with a chance that is learnt from outcomes.

    Each need is decided on its own, so that the propensities are known exactly. With `a` the mean
    of the Beta posterior of the reward of payloads that had the need, and `b` that of those without
    it, each with the prior Beta(1, 1), and `u` and `v` their variances, the need is kept with the
    chance `Phi((a - b) / sqrt(u + v))`: the probability that keeping it is better, as in Thompson
    sampling, by the normal distribution. It is held between `exploration` and `1 - exploration`.
    Until there are `trials` outcomes with the need and `trials` without it, it is kept with the
    chance `1 - exploration`. The draw depends on nothing but the seed, the request and the number
    of outcomes so far.

    Args:
        exploration: The least chance of keeping a need and of leaving it out, over 0 to 0.5.
        trials: The outcomes of both kinds before anything is concluded, at least 1.
        seed: Another seed draws otherwise.

    Raises:
        InvalidInputError: An argument is out of its range.
    """

    exploration: float = EXPLORATION
    trials: int = TRIALS
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_number(self.exploration) or not 0 < self.exploration <= 0.5:  # noqa: PLR2004
            raise InvalidInputError(
                f"exploration: expected over 0 to 0.5, found {self.exploration!r:.80}"
            )
        for name, least in (("trials", 1), ("seed", None)):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int):
                raise InvalidInputError(f"{name}: expected an integer, found {given!r:.80}")
            if least is not None and given < least:
                raise InvalidInputError(f"{name}: expected at least {least}, found {given}")

    def decide(
        self, spec: TaskSpec, request: Request, records: Sequence[OutcomeRecord], /
    ) -> Decision:
        """Return a decision; see `Policy.decide`."""
        names = need_names(spec)
        chances = self.after(records)(names)
        said = [self.seed, spec.task_type, len(records), request.query, request.conversation]
        said += [request.session, request.pipeline, request.error, request.now.isoformat()]
        kept: list[bool] = []
        propensities: list[float] = []
        for name, chance, is_essential in zip(names, chances, essential(spec), strict=True):
            keeps = is_essential or _drawn([name, *said]) < chance
            kept.append(keeps)
            propensities.append(1.0 if is_essential else chance if keeps else 1 - chance)
        return Decision(
            id=uuid.uuid4().hex, needs=names, kept=tuple(kept), propensities=tuple(propensities)
        )

    def after(
        self, records: Sequence[OutcomeRecord]
    ) -> Callable[[Sequence[str]], tuple[float, ...]]:
        """Return what the policy would do after some outcomes.

        Args:
            records: The outcomes of a task.

        Returns:
            A function from names of needs, see `need_names`, to the chance of keeping each, as
            `evaluate` takes it. It is not about essential needs, which are always kept.
        """
        tallies: dict[str, tuple[_Tally, _Tally]] = {}
        for record in records:
            for name, keeps in zip(record.decision.needs, record.decision.kept, strict=True):
                pair = tallies.get(name)
                if pair is None:
                    pair = tallies[name] = (_Tally(), _Tally())
                pair[keeps].add(record.reward)

        def chances(names: Sequence[str]) -> tuple[float, ...]:
            return tuple(self._chance(*tallies.get(name, (_Tally(), _Tally()))) for name in names)

        return chances

    def _chance(self, without: _Tally, having: _Tally) -> float:
        if min(without.count, having.count) < self.trials:
            return 1 - self.exploration
        spread = sqrt(without.variance + having.variance)
        better = (1 + erf((having.mean - without.mean) / spread / sqrt(2))) / 2
        return min(max(better, self.exploration), 1 - self.exploration)


def held_to(spec: TaskSpec, decision: Decision) -> Decision:
    """Return a decision under which essential needs are kept, with certainty.

    Raises:
        InvalidInputError: It is no decision about this specification.
    """
    if not isinstance(decision, Decision) or decision.needs != need_names(spec):
        raise InvalidInputError(f"decision: expected one of this task, found {decision!r:.80}")
    always = essential(spec)
    return replace(
        decision,
        kept=tuple(one or by for one, by in zip(decision.kept, always, strict=True)),
        propensities=tuple(
            1.0 if by else one for one, by in zip(decision.propensities, always, strict=True)
        ),
    )


class _Tally:
    """The rewards of one kind, and the Beta posterior of their mean."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0

    def add(self, reward: float) -> None:
        self.count += 1
        self.total += reward

    @property
    def mean(self) -> float:
        return (1 + self.total) / (2 + self.count)

    @property
    def variance(self) -> float:
        return self.mean * (1 - self.mean) / (3 + self.count)


def _drawn(said: Sequence[object]) -> float:
    """Return a number from 0 to below 1 that looks random and depends on nothing else."""
    digest = content_hash(as_json(said).encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest[:6], "big") / 2**48
