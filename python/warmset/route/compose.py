"""From candidates to a payload: judged, chosen under the budget, quoted, counted.

```text
gather ─▶ the running ones ─▶ with what they depend on ─▶ judged ─▶ chosen ─▶ messages
             twice the room                                 triage     exact tokens
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.messages import text_message
from warmset.route.candidates import Candidate, of_item
from warmset.route.choice import Judged, choose
from warmset.route.more import Granting
from warmset.route.payload import Excluded, Included, Missing, Payload
from warmset.route.quoted import CLOSING, OPENING
from warmset.route.triage import Verdict
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.messages import Message
    from warmset.route.candidates import Gathered
    from warmset.route.desk import Desk
    from warmset.route.quoted import Line
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

RUNNING: Final = 2
"""How many times the room of a payload the candidates have that are read and judged."""

_BESIDE: Final = frozenset({"anthropic", "gemini", "interactions"})
"""Dialects whose calls have the system prompt beside the messages."""


class Composer:
    """Makes one payload.

    Args:
        desk: What routes share.
        spec: What the task needs.
        request: What the payload is for.
    """

    def __init__(self, desk: Desk, spec: TaskSpec, request: Request) -> None:
        self._desk = desk
        self._spec = spec
        self._request = request
        self._budget = request.budget or spec.max_context_tokens
        self._base = self._tokens_of(self._messages([], framed=True))

    def payload(self) -> Payload:
        """Return the payload.

        Raises:
            BudgetTooSmall: What is essential does not fit.
            StoreError: The store could not be read.
            EmbedderError: The embedder failed.
        """
        gathered = self._desk.gatherer.gather(self._spec, self._request)
        if self._base > self._budget:
            raise BudgetTooSmall(self._base, self._budget)
        room = self._budget - self._base
        running = self._running(gathered, room)
        closures, depended, missing = self._closures(running)
        every = [*running, *depended]
        lines = self._desk.lines(every)
        every = [one for one in every if one.id in lines]
        there = [one for one in running if one.id in lines]
        verdicts = dict(
            self._desk.triage.judge(self._request, there, lambda one: lines[one.id].text)
        )
        judged = Judged(
            candidates=every,
            verdicts=verdicts,
            costs={id_: line.tokens for id_, line in lines.items()},
            closures=closures,
        )
        try:
            chosen = choose(judged, room)
        except BudgetTooSmall as error:
            raise BudgetTooSmall(self._base + error.need, self._budget) from None
        included = [one for one in every if one.id in chosen]
        included.sort(
            key=lambda one: (
                (0, min(one.needs, default=0), one.id)
                if _is_essential(one, verdicts)
                else (1, -one.worth, one.id)
            )
        )
        return self._made(gathered, included, lines, verdicts, missing)

    def _running(self, gathered: Gathered, room: int) -> list[Candidate]:
        """Return what is read and judged: essential candidates, and the worthiest of the others."""
        most, running = RUNNING * room, list[Candidate]()
        taken = 0
        for one in gathered.candidates:
            if one.priority == "essential" or taken <= most:
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
                    known[name] = self._named(name)
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

    def _named(self, name: str) -> Candidate | None:
        shelf = self._desk.sources.shelf()
        held = shelf.named(name)
        if held is None:
            found = self._desk.sources.existing.get(name)
        else:
            [found] = shelf.items([held])
        if found is None:
            return None
        return of_item(found, priority="supplementary", needs=(), similarity=None, relevance=0.0)

    def _messages(self, quotes: Sequence[str], *, framed: bool) -> list[Message]:
        request = self._request
        said = f"{OPENING}{''.join(quotes)}{CLOSING}\n\n" if framed else ""
        made = [text_message(request.dialect, "user", f"{said}{request.query}")]
        if request.system and request.dialect not in _BESIDE:
            made.insert(0, text_message(request.dialect, "system", request.system))
        return made

    def _tokens_of(self, made: Sequence[Message]) -> int:
        encoding = self._desk.encoding
        request = self._request
        beside = request.system if request.dialect in _BESIDE else None
        extra = extra_tokens(encoding, system=beside, tools=request.tools)
        return sum(message_tokens(made, encoding)) + PER_REPLY + extra

    def _made(
        self,
        gathered: Gathered,
        included: list[Candidate],
        lines: Mapping[int, Line],
        verdicts: Mapping[int, Verdict],
        missing: Sequence[Missing],
    ) -> Payload:
        request, encoding = self._request, self._desk.encoding
        while True:
            quotes = [lines[one.id].quote for one in included]
            made = self._messages(quotes, framed=bool(quotes))
            total = (
                self._base + sum(lines[one.id].tokens for one in included)
                if included and encoding != "estimate"
                else self._tokens_of(made)
            )
            if total <= self._budget or not included or _is_essential(included[-1], verdicts):
                break
            included = included[:-1]  # estimates of parts may be less than that of the whole
        if total > self._budget:
            raise BudgetTooSmall(total, self._budget)
        ids = {one.id for one in included}
        names = {one.memory_id for one in included}
        left = self._budget - total
        own = [one for one in included if one.needs]
        return Payload(
            task=self._spec.task_type,
            context_payload=tuple(
                _included(one, lines[one.id], verdicts.get(one.id), own) for one in included
            ),
            excluded=tuple(self._excluded(gathered, ids, lines, verdicts)),
            missing=tuple(one for one in missing if one.needed_by in names),
            needs=tuple(gathered.needs),
            messages=made,
            system=request.system if request.dialect in _BESIDE else None,
            dialect=request.dialect,
            total_tokens=total,
            budget_remaining=left,
            _more=Granting(self._desk, self._spec, request, gathered.candidates, ids, left),
        )

    def _excluded(
        self,
        gathered: Gathered,
        ids: set[int],
        lines: Mapping[int, Line],
        verdicts: Mapping[int, Verdict],
    ) -> Iterable[Excluded]:
        for one in gathered.candidates:
            if one.id in ids:
                continue
            verdict = verdicts.get(one.id)
            if verdict is None:
                rest = "less relevant than what fills the budget"
                verdict = Verdict("supplementary", rest)
            elif one.id not in lines:
                verdict = Verdict("irrelevant", "it was removed meanwhile")
            elif verdict.classification == "supplementary":
                verdict = Verdict("supplementary", f"no room for its {lines[one.id].tokens} tokens")
            yield Excluded(
                memory_id=one.memory_id,
                classification=verdict.classification,
                reason=verdict.reason,
                relevance=one.relevance,
            )
        shelf = self._desk.sources.shelf()
        for _id, name, heir in gathered.superseded:
            by = shelf.get(heir)
            newer = f"item {heir}" if by is None else by.memory_id
            yield Excluded(
                memory_id=name, classification="redundant", reason=f"superseded by {newer}"
            )


def _is_essential(one: Candidate, verdicts: Mapping[int, Verdict]) -> bool:
    verdict = verdicts.get(one.id)
    return verdict is not None and verdict.classification == "essential"


def _included(
    one: Candidate, line: Line, verdict: Verdict | None, own: Sequence[Candidate]
) -> Included:
    if verdict is None or verdict.classification not in ("essential", "supplementary"):
        by = next((other.memory_id for other in own if one.memory_id in other.dependencies), "")
        reason = f"{by} depends on it" if by else "what stands here depends on it"
        verdict = Verdict("supplementary", reason)
    return Included(
        memory_id=one.memory_id,
        memory_type=one.memory_type,
        classification=verdict.classification,
        tokens=line.tokens,
        reason=verdict.reason,
        relevance=one.relevance,
        needs=one.needs,
        id=one.id,
    )
