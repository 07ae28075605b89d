"""Builds the windows of mode "steady": each one continues the list before it.

```text
resume ─▶ swap? ─▶ recall, where an exchange begins ─▶ write ─▶ record ─▶ window
   ▲                                                              │ another process was first
   └──────────────────────────────────────────────────────────────┘
```
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from warmset._support.log import event, room
from warmset.errors import ConversionError, StoreError
from warmset.options import RANKED
from warmset.window.memos import check_there
from warmset.window.recalled import Asked
from warmset.window.report_builder import ReportBuilder
from warmset.window.request import read_request
from warmset.window.result import EpochReport
from warmset.window.sent_back import note_window
from warmset.window.stages import call_of, cost_of_all, pick
from warmset.window.steady.compacted import part_of
from warmset.window.steady.days import with_days
from warmset.window.steady.index_role import check_index_role
from warmset.window.steady.provider import (
    ask_provider,
    at_last_compaction,
    by_provider,
    compaction_of,
)
from warmset.window.steady.recall import recalled, room_of
from warmset.window.steady.record import LOST, RECORDED, earlier, record, standing
from warmset.window.steady.remembered import (
    asked_of,
    choices_of,
    chosen_for,
    front_of,
    insertion_of,
    room_for,
    unrepeated,
)
from warmset.window.steady.resume import resume
from warmset.window.steady.swap import swapped
from warmset.window.steady.write import (
    epoch_tokens,
    insertion_tokens,
    sendable,
    sent_tokens,
    with_pinned,
    written_tokens,
)

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.messages import Thinking
    from warmset.pick import Picked, Picker
    from warmset.retrieve.hits import Found
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.store.epochs import Insertion
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.recalled import Chosen
    from warmset.window.render import Call
    from warmset.window.request import Ask, Request
    from warmset.window.result import Window
    from warmset.window.steady.epoch import Epoch
    from warmset.window.steady.remembered import Front
    from warmset.window.steady.resume import Plan
    from warmset.window.steady.swap import Swap
    from warmset.window.summaries import Summaries

LOG: Final = room("window")

TRIES: Final = 8
"""How often a window is planned again because another process recorded one first."""

SUMMARY_SHARE: Final = 0.15
"""The share of the budget that a summary may have, so that a new epoch has room for units."""

SOFT: Final = "the list came near the budget"
HARD: Final = "the list reached the budget"
CHANGED: Final = "the conversation or its epoch changed meanwhile"
OVER: Final = "the written list has more tokens than planned"


class SteadyWindows:
    """Builds the steady windows of a tenant's conversations.

    Args:
        handle: The open store.
        searcher: Finds turns.
        picker: Chooses from the shortlist; None chooses by score.
    """

    def __init__(self, handle: Handle, searcher: Searcher, picker: Picker | None) -> None:
        self._handle = handle
        self._searcher = searcher
        self._picker = picker

    def window(
        self, conversation: str, ask: Ask, summaries: Summaries | None, started: float
    ) -> Window:
        """Build a window.

        Args:
            conversation: The conversation's name.
            ask: The checked arguments.
            summaries: The conversation's summaries; None for none.
            started: When the call began, by `time.perf_counter`.

        Raises:
            BudgetTooSmall: The messages that must stay do not fit.
        """
        forced = False
        for _ in range(TRIES):
            front = self._front(conversation, ask)
            made = self._try(conversation, ask, summaries, front, started, forced=forced)
            if not isinstance(made, str):
                return self._reported(conversation, front, *made, summaries)
            forced = forced or made == OVER
        front = self._front(conversation, ask)
        with self._handle.live().lock:  # nobody can come between; nothing is recalled
            made = self._try(conversation, ask, None, front, started, forced=forced, last=True)
        assert not isinstance(made, str)  # noqa: S101 - the last try is given as it is
        return self._reported(conversation, front, *made, summaries)

    def expect(self, conversation: str, ask: Ask) -> None:
        """Note the last lists that another process recorded, to recognise them in a new one.

        Args:
            conversation: The conversation's name.
            ask: The arguments of the window that will be made.
        """
        engine = self._handle.live()
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            epochs = engine.epochs_of(ledger.tenant, ledger.name)
            if not epochs.any:
                return
            call = call_of(engine, ledger, ask, read_request(engine, ledger, None))
            key = epochs.newest(call.target)
            if key is None or epochs.last(key) == epochs.noted:
                return
            epochs.noted = epochs.last(key)
            for read in (earlier, standing):
                with suppress(StoreError, ConversionError):  # then it is not recognised
                    epoch = read(engine, ledger, key)
                    if epoch is not None:  # with all messages since: it would have grown by them
                        whole = with_pinned(call, epoch)
                        made, _ = sendable(engine, ledger, whole, epoch)
                        note_window(ledger, made, whole)

    def _try(
        self,
        conversation: str,
        ask: Ask,
        summaries: Summaries | None,
        front: Front,
        started: float,
        *,
        forced: bool,
        last: bool = False,
    ) -> tuple[ReportBuilder, Made, Chosen] | str:
        """Build a window; or return why it has to be planned again."""
        engine = self._handle.live()
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            request = read_request(engine, ledger, ask.query)
            given = call_of(engine, ledger, ask, request)
            check_index_role(given, ask)
            report = ReportBuilder(engine, ledger, ask, cost_of_all(engine, ledger, given), started)
            plan = resume(engine, ledger, given, request, front.whole)
            plan = _with_days(engine, ledger, ask, plan)
            call = with_pinned(given, plan.now)
            why = HARD if forced else _swap_because(engine, ledger, call, ask, plan)
        provider = None if summaries is None else summaries.compactions
        offered, swap = None, None
        if provider is not None:
            swap, why = by_provider(engine, ledger, call, ask, plan, provider, why, hard=HARD)
        if summaries is not None and swap is None and (provider is None or why is not None):
            offered = summaries.offer(
                call,
                share=SUMMARY_SHARE,
                wait=why is not None,
                prefix=lambda boundary: part_of(engine, ledger, call, plan.now, boundary),
            )
        with engine.lock:
            if not plan.stands(engine, ledger):
                return CHANGED
            if why is not None and swap is None:
                swap = _next(engine, ledger, call, given, ask, plan, why, offered, front)
            now = plan.now if swap is None else swap.epoch
            shown = with_pinned(given, now)
            tokens = epoch_tokens(engine, ledger, shown, now)
        recalls = _Recalls()
        if plan.begins and request.text and not last:
            recalls = self._recalls(ledger, ask, request, now, front)
        with engine.lock:
            if not plan.stands(engine, ledger):
                return CHANGED
            more, chosen = self._more(ledger, shown, ask, plan, now, tokens, recalls)
            check_there(engine, {*now.memories, *(one.id for one in chosen.shown)})
            found = _written(engine, ledger, shown, plan, swap, now, more)
            done = last or found.outcome not in (LOST, OVER)
        if not done:
            return OVER if found.outcome == OVER else CHANGED
        if recalls.turns is not None:
            report.retrieved(*recalls.turns)
        report.remembered((), recalls.asked.note)
        if provider is not None:
            ask_provider(engine, ledger, ask, found, provider)
        return report, found, chosen

    def _front(self, conversation: str, ask: Ask) -> Front:
        """Return what is pinned now; not under the engine's lock."""
        engine = self._handle.live()
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            call = call_of(engine, ledger, ask, read_request(engine, ledger, ask.query))
        return front_of(engine, ledger, ask, call)

    def _recalls(
        self, ledger: Ledger, ask: Ask, request: Request, now: Epoch, front: Front
    ) -> _Recalls:
        """Search what an exchange may need; not under the engine's lock."""
        engine = self._handle.live()
        turns = self._found(ledger, ask, request, now) if now.hides else None
        asked = asked_of(engine, self._searcher, ledger, ask, request, now, front)
        return _Recalls(turns, asked)

    def _more(
        self,
        ledger: Ledger,
        call: Call,
        ask: Ask,
        plan: Plan,
        now: Epoch,
        tokens: int,
        recalls: _Recalls,
    ) -> tuple[tuple[Insertion, ...], Chosen]:
        """Choose what is quoted for an exchange; the caller holds the engine's lock.

        Returns:
            The messages of ours before its request, and what they quote of memories.
        """
        engine = self._handle.engine
        turns: tuple[Insertion, ...] = ()
        room = room_for(engine, call, ask, now, call.budget - tokens)
        chosen = chosen_for(engine, ledger, call, recalls.asked, now, room)
        ours = insertion_of(engine, call, chosen, plan.at)
        taken = sum(insertion_tokens(engine, call, one) for one in ours)
        if recalls.turns is not None:
            turns = recalled(
                engine,
                ledger,
                call,
                ask,
                now,
                *recalls.turns,
                self._searcher.weights,
                at=plan.at,
                room=room_of(call, ask, tokens + taken),
            )
        if turns and ours:
            chosen = unrepeated(engine, ledger, chosen, turns)
            ours = insertion_of(engine, call, chosen, plan.at)
        return (*ours, *turns), chosen

    def _found(
        self, ledger: Ledger, ask: Ask, request: Request, now: Epoch
    ) -> tuple[Found, Picked]:
        """Search what the epoch does not show, and have it picked."""
        path = ledger.history.path
        shown = {*path[now.start :], *(path[at] for at in (*now.held, *now.quoted))}
        found = self._searcher.shortlist(
            ledger,
            request.text,
            query_vector=ask.options.query_vector,
            k=max(ask.options.shortlist, RANKED),
            wait=ask.options.wait,
            shown={*shown, request.id or 0},
        )
        return found, pick(ask.options.picker or self._picker, ask, request, found)

    def _reported(
        self,
        conversation: str,
        front: Front,
        report: ReportBuilder,
        one: Made,
        chosen: Chosen,
        summaries: Summaries | None,
    ) -> Window:
        """Return the window with its report; not under the engine's lock."""
        engine, now, before = self._handle.engine, one.now, one.plan.recorded
        ledger = engine.ledger(self._handle.tenant, conversation)
        report.memories = choices_of(engine, ledger, front, chosen, before, now)
        shown = None if summaries is None else compaction_of(summaries.shown(one.made), one)
        begun = before is None or now.number != before.number
        if begun:
            event(
                LOG,
                logging.INFO,
                "epoch",
                tenant=self._handle.tenant,
                conversation=conversation,
                number=now.number,
                why=now.why,
                dialect=one.call.target,
                hidden=now.start - len(now.held),
                tokens=one.made.tokens,
                budget=one.call.budget,
            )
        epoch = EpochReport(
            number=now.number,
            why=now.why,
            began=begun,
            hidden=now.start - len(now.held),
            recalled=tuple(one.path[at] for at in one.quoted),
            between=0 if one.swap is None else one.swap.between,
            over=one.swap is not None and one.swap.over,
            unrecorded=None if one.outcome == RECORDED else one.outcome,
        )
        return report.window(
            one.made,
            one.call,
            active=bool(now.start or now.insertions),
            compaction=shown,
            thinking=one.thinking,
            epoch=epoch,
        )


@dataclass(frozen=True, slots=True)
class _Recalls:
    """What an exchange may need: turns that the list does not show, and memories."""

    turns: tuple[Found, Picked] | None = None
    asked: Asked = field(default_factory=Asked)


@dataclass(frozen=True, slots=True)
class Made:
    """A list that is ready to be returned."""

    call: Call
    plan: Plan
    swap: Swap | None
    now: Epoch
    quoted: tuple[int, ...]
    path: tuple[int, ...]
    made: Assembled
    thinking: Thinking
    outcome: str


def _with_days(engine: Engine, ledger: Ledger, ask: Ask, plan: Plan) -> Plan:
    """Add lines where the day changes in messages that were not sent yet."""
    if ask.options.dates == "none":
        return plan
    return replace(plan, now=with_days(engine, ledger, plan.now, plan.sent))


def _written(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    plan: Plan,
    swap: Swap | None,
    now: Epoch,
    recall: tuple[Insertion, ...],
) -> Made:
    """Write a list and record it; the caller holds the engine's lock."""
    summary = None if swap is None else swap.summary
    bare = now
    now = bare.with_recall(recall) if recall else bare
    made, thinking = sendable(engine, ledger, call, now, summary)
    if made.tokens > call.budget and recall:
        now, recall = bare, ()
        made, thinking = sendable(engine, ledger, call, bare, summary)
    over, path = made.tokens > call.budget, tuple(ledger.history.path)
    outcome = RECORDED
    if over and swap is None:
        outcome = OVER
    elif now != plan.recorded and not over:
        outcome = record(engine, ledger, call, plan.recorded, now, made, summary)
    quoted = tuple(at for one in recall for at in one.quoted)
    return Made(call, plan, swap, now, quoted, path, made, thinking, outcome)


def _next(
    engine: Engine,
    ledger: Ledger,
    call: Call,
    given: Call,
    ask: Ask,
    plan: Plan,
    why: str,
    offered: Settled | None,
    front: Front,
) -> Swap:
    """Plan the next epoch; the caller holds the engine's lock.

    Args:
        engine: The store, from which texts are read.
        ledger: The conversation.
        call: The call of the epoch before.
        given: The same without what is pinned in its system prompt.
        ask: The arguments of the window.
        plan: The epoch before.
        why: Why it ends.
        offered: The summary that is ready; None if there is none.
        front: What is pinned now.
    """
    found = at_last_compaction(engine, ledger, call, ask, plan)
    if found is not None:
        return found
    spare = room_of(call, ask, 0) if plan.begins else 0
    return swapped(
        engine,
        ledger,
        given,
        ask,
        plan.now,
        why=why,
        summary=offered,
        spare=spare,
        pinned=front.ways,
    )


def _swap_because(engine: Engine, ledger: Ledger, call: Call, ask: Ask, plan: Plan) -> str | None:
    """Return why the next epoch begins with this window; None if the list can grow.

    The caller holds the engine's lock.
    """
    why: str | None = None
    for count in (written_tokens, sent_tokens):  # the first one counts thinking that leaves, too
        why = _because(call, ask, plan, count(engine, ledger, call, plan.now))
        if why is None:
            break
    return why


def _because(call: Call, ask: Ask, plan: Plan, tokens: int) -> str | None:
    if tokens > call.budget:
        return HARD
    soft = call.budget * ask.options.swap_at
    return SOFT if plan.begins and plan.at and tokens >= soft else None
