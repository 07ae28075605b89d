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
from warmset.route.closures import Closures, removed
from warmset.route.judgement import judged
from warmset.route.settle import settled
from warmset.route.triage import Verdict, worked_up

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from warmset.route.candidates import Gathered
    from warmset.route.desk import Desk
    from warmset.route.judgement import Judgement, TriageReport
    from warmset.route.payload import Missing
    from warmset.route.quoted import Line
    from warmset.route.request import Request

RUNNING: Final = 2
"""How many times the room of a payload the candidates have that are read and judged."""


_REMOVED: Final = Verdict("irrelevant", "it was removed meanwhile")
_LESS: Final = Verdict("supplementary", "less relevant than what fills the budget")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What stands in a payload.

    Args:
        gathered: All candidates.
        included: What stands in it, in its order.
        lines: What was read, by id, as it may stand in a payload.
        verdicts: What each candidate that was judged is for the task, by id.
        report: Who judged, and what it took.
        missing: What candidates depend on and what is not there.
        room: The tokens that items may take.
        gone: Ids of what was removed before it was read.
        depended: What candidates depend on and what is no candidate that was read.
        named: By the name of what is depended on, the name of what stands for it.
    """

    gathered: Gathered
    included: tuple[Candidate, ...]
    lines: Mapping[int, Line]
    verdicts: Mapping[int, Verdict]
    report: TriageReport
    missing: tuple[Missing, ...]
    room: int
    gone: frozenset[int]
    depended: tuple[Candidate, ...]
    named: Mapping[str, str]

    def is_essential(self, one: Candidate) -> bool:
        """Return whether an item must stand in the payload."""
        return is_essential(one, self.verdicts)


class Planner:
    """Decides what stands in the payload of a request.

    Args:
        desk: What routes share.
        request: What the payload is for.
        room: The tokens that items may take.
        judgement: What was judged before and holds; None to judge now.
    """

    def __init__(
        self, desk: Desk, request: Request, room: int, judgement: Judgement | None = None
    ) -> None:
        self._desk = desk
        self._request = request
        self._room = room
        self._judgement = judgement

    def plan(self, gathered: Gathered) -> Plan:
        """Return what stands in the payload.

        Raises:
            BudgetTooSmall: What is essential does not fit the room.
            StoreError: The store could not be read.
        """
        running = self._running(gathered)
        closed = Closures(self._desk, self._request, gathered).of(running)
        closures, depended, missing, named = closed
        every = [*running, *depended]
        lines = self._desk.lines(every)
        gone = frozenset(one.id for one in every if one.id not in lines)
        if gone:
            missing += removed(every, closures, gone)
            closures = {id_: ids - gone for id_, ids in closures.items()}
        every = [one for one in every if one.id in lines]
        there = [one for one in running if one.id in lines]
        texts = self._desk.texts(lines)
        before = self._judgement
        judgement = (
            judged(self._desk.rules, self._desk.triage, self._request, there, texts)
            if before is None
            else before
        )
        verdicts = dict(judgement.verdicts)
        again = self._request.again
        why = "left out before; the task was unsure"
        if self._request.confidence is not None:
            why += f" ({self._request.confidence:.2f})"
        for one in there:
            if before is None and one.memory_id in again and not is_essential(one, verdicts):
                verdicts[one.id] = Verdict("supplementary", why)
        options = Judged(
            candidates=every,
            verdicts=verdicts,
            costs={id_: line.tokens for id_, line in lines.items()},
            closures=closures,
            again=frozenset(one.id for one in there if one.memory_id in again),
        )
        if before is None:
            options, chosen = settled(options, self._room, texts)
        else:
            chosen = choose(options, self._room)
        verdicts = dict(options.verdicts)
        included = [one for one in every if one.id in chosen]
        included.sort(
            key=lambda one: (
                (0, False, min(one.needs, default=0), one.id)
                if is_essential(one, verdicts)
                else (1, not _is_first(one, verdicts), -one.worth, one.id)
            )
        )
        return Plan(
            gathered=gathered,
            included=tuple(included),
            lines=lines,
            verdicts=verdicts,
            report=judgement.report,
            missing=tuple(missing),
            room=self._room,
            gone=gone,
            depended=tuple(depended),
            named=named,
        )

    def _running(self, gathered: Gathered) -> list[Candidate]:
        """Return what is read and judged: essential candidates, and the worthiest of the others.

        What an essential one was made from takes no place of theirs: the essential one stands for
        it. What is larger than the room is not read.
        """
        most, running = RUNNING * self._room, list[Candidate]()
        again = self._request.again
        essential = [one for one in gathered.candidates if one.priority == "essential"]
        raw = worked_up(essential, gathered.candidates)
        taken = 0
        for one in gathered.candidates:
            tokens = one.tokens
            fits = taken <= most and tokens <= self._room
            if fits or one.priority == "essential" or (again and one.memory_id in again):
                running.append(one)
                if one.id not in raw:
                    taken += tokens
        return running


def _is_first(one: Candidate, verdicts: Mapping[int, Verdict]) -> bool:
    verdict = verdicts.get(one.id)
    return verdict is not None and verdict.first


def is_essential(one: Candidate, verdicts: Mapping[int, Verdict]) -> bool:
    """Return whether an item was judged essential."""
    verdict = verdicts.get(one.id)
    return verdict is not None and verdict.classification == "essential"


def why_left(plan: Plan, ids: Container[int]) -> Iterator[tuple[Candidate, Verdict]]:
    """Return the candidates that do not stand in a payload, each with what it was and why.

    Args:
        plan: What was decided.
        ids: Ids of what stands in the payload.
    """
    short: dict[int, Verdict] = {}
    for one in plan.gathered.candidates:
        id_ = one.id
        if id_ in ids:
            continue
        verdict = plan.verdicts.get(id_)
        if id_ in plan.gone:
            verdict = _REMOVED
        elif verdict is None and one.tokens <= plan.room:
            verdict = _LESS
        elif verdict is None or verdict.classification == "supplementary":
            tokens = one.tokens if verdict is None else plan.lines[id_].tokens
            verdict = short.get(tokens)
            if verdict is None:
                verdict = Verdict("supplementary", f"no room for its {tokens} tokens")
                short[tokens] = verdict
        yield one, verdict


def by_heir(name: str) -> str:
    """Return why an item is left out that another one, of this name, replaces."""
    return f"superseded by {name}"
