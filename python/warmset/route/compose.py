"""From candidates to a payload: planned under the budget, quoted, counted.

```text
gather ─▶ plan ─▶ messages ─▶ exact tokens ─▶ payload
```
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from warmset.errors import BudgetTooSmall
from warmset.messages import text_message
from warmset.route.more import Granting
from warmset.route.payload import Excluded, Exclusions, Included, Payload
from warmset.route.plan import Planner, by_heir, why_left
from warmset.route.plans import key_of, stamp_of
from warmset.route.triage import Verdict
from warmset.text.markup import ITEMS, ITEMS_CLOSING
from warmset.tokens import PER_REPLY, extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from warmset.messages import Message
    from warmset.route.candidates import Candidate, Gathered
    from warmset.route.desk import Desk
    from warmset.route.judgement import Judgement
    from warmset.route.plan import Plan
    from warmset.route.quoted import Line
    from warmset.route.request import Request
    from warmset.route.spec import TaskSpec

_BESIDE: Final = frozenset({"anthropic", "gemini", "interactions"})
"""Dialects whose calls have the system prompt beside the messages."""


class Composer:
    """Makes one payload.

    Args:
        desk: What routes share.
        spec: What the task needs.
        request: What the payload is for.
        tool_tokens: The tokens of tools, if the request does not bring them.
        record: Records what became of a plan.
        grants: What further items are granted with; the desk if not given.
    """

    def __init__(
        self,
        desk: Desk,
        spec: TaskSpec,
        request: Request,
        *,
        tool_tokens: int = 0,
        record: Callable[[Plan, Payload], Payload] | None = None,
        grants: Desk | None = None,
    ) -> None:
        self._desk = desk
        self._grants = grants or desk
        self._spec = spec
        self._request = request
        self._tool_tokens = tool_tokens
        self._record = record
        self._budget = request.budget or spec.max_context_tokens
        self._base = self._tokens_of(self._messages([], framed=True))

    def payload(self) -> Payload:
        """Return the payload.

        Raises:
            BudgetTooSmall: What is essential does not fit.
            StoreError: The store could not be read.
        """
        if self._base > self._budget:
            raise BudgetTooSmall(self._base, self._budget)
        room = self._budget - self._base
        plans, request = self._desk.plans, self._request
        key, stamp = key_of(self._spec, request, room), stamp_of(self._desk.sources)
        plan = plans.get(key, stamp, request.now)
        if plan is None:
            gathered = self._desk.gatherer.gather(self._spec, request)
            plan = self._planned(gathered, room)
            if plan.report.why is None:  # next time who failed may be there again
                plans.keep(key, stamp, request.now, plan)
        made = self._made(plan)
        return made if self._record is None else self._record(plan, made)

    def compose(self, gathered: Gathered, judgement: Judgement | None) -> Payload:
        """Return the payload of candidates that were found and, if given, judged before.

        Raises:
            BudgetTooSmall: What is essential does not fit.
            StoreError: The store could not be read.
        """
        return self._made(self._planned(gathered, self._budget - self._base, judgement))

    def _planned(self, gathered: Gathered, room: int, judgement: Judgement | None = None) -> Plan:
        try:
            return Planner(self._desk, self._request, room, judgement).plan(gathered)
        except BudgetTooSmall as error:
            raise BudgetTooSmall(self._base + error.need, self._budget) from None

    def _messages(self, quotes: Sequence[str], *, framed: bool) -> list[Message]:
        request = self._request
        said = f"{ITEMS}{''.join(quotes)}{ITEMS_CLOSING}\n\n" if framed else ""
        made = [text_message(request.dialect, "user", f"{said}{request.query}")]
        if request.system and request.dialect not in _BESIDE:
            made.insert(0, text_message(request.dialect, "system", request.system))
        return made

    def _tokens_of(self, made: Sequence[Message]) -> int:
        encoding = self._desk.encoding
        request = self._request
        beside = request.system if request.dialect in _BESIDE else None
        extra = extra_tokens(encoding, system=beside, tools=request.tools)
        return sum(message_tokens(made, encoding)) + PER_REPLY + extra + self._tool_tokens

    def _made(self, plan: Plan) -> Payload:
        request, encoding = self._request, self._desk.encoding
        included, lines = list(plan.included), plan.lines
        while True:
            quotes = [lines[one.id].quote for one in included]
            made = self._messages(quotes, framed=bool(quotes))
            total = (
                self._base + sum(lines[one.id].tokens for one in included)
                if included and encoding != "estimate"
                else self._tokens_of(made)
            )
            if total <= self._budget or not included or plan.is_essential(included[-1]):
                break
            included = included[:-1]  # estimates of parts may be less than that of the whole
        if total > self._budget:
            raise BudgetTooSmall(total, self._budget)
        ids = {one.id for one in included}
        names = {one.memory_id for one in included}
        left = self._budget - total
        asked = plan.gathered.asked
        there = ids if asked is None else ids | {asked}  # the query stands at the end
        own = [one for one in included if one.needs]
        return Payload(
            task=self._spec.task_type,
            request=request,
            context_payload=tuple(
                _included(one, lines[one.id], plan.verdicts.get(one.id), own) for one in included
            ),
            excluded=Exclusions(partial(_excluded, plan, frozenset(ids), _heirs(self._desk, plan))),
            missing=tuple(one for one in plan.missing if one.needed_by in names),
            needs=tuple(plan.gathered.needs),
            triage=plan.report,
            messages=made,
            system=request.system if request.dialect in _BESIDE else None,
            dialect=request.dialect,
            total_tokens=total,
            budget_remaining=left,
            _more=Granting(self._grants, self._spec, request, plan.gathered, there, left),
        )


def _excluded(plan: Plan, ids: frozenset[int], heirs: Mapping[str, str]) -> Iterator[Excluded]:
    """Return the candidates that do not stand in a payload, with the reasons."""
    for one, verdict in why_left(plan, ids):
        yield Excluded(
            memory_id=one.memory_id,
            classification=verdict.classification,
            reason=verdict.reason,
            relevance=one.relevance,
        )
    for name, newer in heirs.items():
        yield Excluded(memory_id=name, classification="redundant", reason=by_heir(newer))


def _heirs(desk: Desk, plan: Plan) -> dict[str, str]:
    """Return the names of what replaces the superseded candidates, by their names."""
    return {name: desk.reader.name_of(heir) for _id, name, heir in plan.gathered.superseded}


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
