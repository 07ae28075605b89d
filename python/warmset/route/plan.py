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
from warmset.route.payload import Missing
from warmset.route.triage import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.route.candidates import Gathered
    from warmset.route.desk import Desk
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
        gone: Ids of what was removed before it was read.
        depended: What candidates depend on and what is no candidate that was read.
    """

    gathered: Gathered
    included: tuple[Candidate, ...]
    lines: Mapping[int, Line]
    verdicts: Mapping[int, Verdict]
    missing: tuple[Missing, ...]
    gone: frozenset[int]
    depended: tuple[Candidate, ...] = ()

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
        closures, depended, missing = self._closures(running)
        every = [*running, *depended]
        lines = self._desk.lines(every)
        gone = frozenset(one.id for one in every if one.id not in lines)
        if gone:
            missing += _left(every, closures, gone)
            closures = {id_: ids - gone for id_, ids in closures.items()}
        every = [one for one in every if one.id in lines]
        there = [one for one in running if one.id in lines]
        verdicts = dict(
            self._desk.triage.judge(self._request, there, lambda one: lines[one.id].text)
        )
        again = self._request.again
        for one in there:
            if one.memory_id in again and not is_essential(one, verdicts):
                verdicts[one.id] = Verdict("supplementary", "left out before")
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
            gone=gone,
            depended=tuple(depended),
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

    def _closures(
        self, running: Sequence[Candidate]
    ) -> tuple[dict[int, frozenset[int]], list[Candidate], list[Missing]]:
        """Return what each candidate depends on, what of it is no candidate, what is not there."""
        known: dict[str, Candidate | None] = {one.memory_id: one for one in running}
        depended: list[Candidate] = []
        missing: dict[tuple[str, str], Missing] = {}
        closures: dict[int, frozenset[int]] = {}
        for one in running:
            if not one.dependencies:
                continue
            found: dict[str, Candidate] = {}
            waiting = [(name, one) for name in one.dependencies]
            while waiting:
                name, parent = waiting.pop()
                if name == one.memory_id or name in found:
                    continue
                if name not in known:
                    known[name] = self._desk.reader.named(name)
                    if (fresh := known[name]) is not None:
                        depended.append(fresh)
                other = known[name]
                if other is None:
                    missing[name, parent.memory_id] = Missing(
                        memory_id=name, needed_by=parent.memory_id
                    )
                    continue
                found[name] = other
                waiting += [(deeper, other) for deeper in other.dependencies]
            closures[one.id] = frozenset(other.id for other in found.values())
        return closures, depended, list(missing.values())


def is_essential(one: Candidate, verdicts: Mapping[int, Verdict]) -> bool:
    """Return whether an item was judged essential."""
    verdict = verdicts.get(one.id)
    return verdict is not None and verdict.classification == "essential"


def _left(
    every: Sequence[Candidate], closures: Mapping[int, frozenset[int]], gone: frozenset[int]
) -> list[Missing]:
    """Return what is missing because it was removed before it was read."""
    names = {one.id: one.memory_id for one in every}
    return [
        Missing(memory_id=names[id_], needed_by=one.memory_id)
        for one in every
        for id_ in sorted(closures.get(one.id, frozenset()) & gone)
    ]
