"""What stands in a payload and why: candidates judged, and chosen under the budget.

```text
gather ─▶ the running ones ─▶ with what they depend on ─▶ judged ─▶ chosen, in order
             twice the room                                 triage
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.route.candidates import Candidate
from warmset.route.choice import Judged, choose
from warmset.route.closures import Closures
from warmset.route.triage import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.route.candidates import Gathered
    from warmset.route.desk import Desk
    from warmset.route.payload import Missing
    from warmset.route.quoted import Line
    from warmset.route.request import Request

RUNNING: Final = 2
"""How many times the room of a payload the candidates have that are read and judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What stands in a payload.

    Args:
        gathered: All candidates.
        included: What stands in it, in its order.
        lines: What was read, by id, as it may stand in a payload.
        verdicts: What each candidate that was judged is for the task, by id.
        missing: What candidates depend on and what is not there.
        gone: Ids of candidates that were removed before they were read.
    """

    gathered: Gathered
    included: tuple[Candidate, ...]
    lines: Mapping[int, Line]
    verdicts: Mapping[int, Verdict]
    missing: tuple[Missing, ...]
    gone: frozenset[int]

    def is_essential(self, one: Candidate) -> bool:
        """Return whether an item must stand in the payload."""
        return is_essential(one, self.verdicts)


class Planner:
    """Decides what stands in the payload of a request.

    Args:
        desk: What routes share.
        request: What the payload is for.
        room: The tokens that items may take.
    """

    def __init__(self, desk: Desk, request: Request, room: int) -> None:
        self._desk = desk
        self._request = request
        self._room = room

    def plan(self, gathered: Gathered) -> Plan:
        """Return what stands in the payload.

        Raises:
            BudgetTooSmall: What is essential does not fit the room.
            StoreError: The store could not be read.
        """
        running = self._running(gathered)
        closures, depended, missing = Closures(self._desk, self._request, gathered).of(running)
        every = [*running, *depended]
        lines = self._desk.lines(every)
        every = [one for one in every if one.id in lines]
        there = [one for one in running if one.id in lines]
        verdicts = dict(
            self._desk.triage.judge(self._request, there, lambda one: lines[one.id].said)
        )
        again = self._request.again
        why = "left out before; the task was unsure"
        if self._request.confidence is not None:
            why += f" ({self._request.confidence:.2f})"
        for one in there:
            if one.memory_id in again and not is_essential(one, verdicts):
                verdicts[one.id] = Verdict("supplementary", why)
        judged = Judged(
            candidates=every,
            verdicts=verdicts,
            costs={id_: line.tokens for id_, line in lines.items()},
            closures=closures,
            again=frozenset(one.id for one in there if one.memory_id in again),
        )
        chosen = choose(judged, self._room)
        included = [one for one in every if one.id in chosen]
        included.sort(
            key=lambda one: (
                (0, min(one.needs, default=0), one.id)
                if is_essential(one, verdicts)
                else (1, -one.worth, one.id)
            )
        )
        return Plan(
            gathered=gathered,
            included=tuple(included),
            lines=lines,
            verdicts=verdicts,
            missing=tuple(missing),
            gone=frozenset(one.id for one in running if one.id not in lines),
        )

    def _running(self, gathered: Gathered) -> list[Candidate]:
        """Return what is read and judged: essential candidates, and the worthiest of the others."""
        most, running = RUNNING * self._room, list[Candidate]()
        taken = 0
        for one in gathered.candidates:
            if one.priority == "essential" or taken <= most or one.memory_id in self._request.again:
                running.append(one)
                taken += one.tokens
        return running


def is_essential(one: Candidate, verdicts: Mapping[int, Verdict]) -> bool:
    """Return whether an item was judged essential."""
    verdict = verdicts.get(one.id)
    return verdict is not None and verdict.classification == "essential"
