"""The pipeline of a window, from the request to the messages of one call.

```text
request ─▶ untouched? ─▶ evict ─▶ shortlist ─▶ pick ─▶ pack ─▶ saves enough? ─▶ window
```

Windows of mode "steady" have a pipeline of their own: `warmset.window.steady`.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from warmset._support.keywords import refuse_unknown
from warmset._support.log import event, room
from warmset.errors import BudgetTooSmall, Erased, NotFound
from warmset.options import ranked
from warmset.pick import Picked
from warmset.tokens.budget import input_tokens
from warmset.window.assemble import assemble
from warmset.window.auto import Weighing, weigh
from warmset.window.exchange import ExchangeChoices, key_of_choices
from warmset.window.one_window import OneWindow
from warmset.window.options import WindowOptions
from warmset.window.pinned import pins_of
from warmset.window.remembering import Remembering
from warmset.window.report_builder import ReportBuilder
from warmset.window.request import Ask, read_request
from warmset.window.stages import (
    again,
    call_of,
    cost_of_all,
    freeze,
    least_tokens,
    pick,
    quote_and_index,
    stay,
    untouched,
    whole,
)
from warmset.window.steady.index_role import check_index_role
from warmset.window.steady.windows import SteadyWindows
from warmset.window.whole_list import WholeList

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.engine.handle import Handle
    from warmset.options import Mode
    from warmset.pick import Picker
    from warmset.retrieve.hits import Found
    from warmset.retrieve.searcher import Searcher
    from warmset.state.ledger import Ledger
    from warmset.tokens.budget import Budget
    from warmset.window.assemble import Draft
    from warmset.window.layout import Frame
    from warmset.window.options import WindowKeywords
    from warmset.window.pinned import Pins
    from warmset.window.render import Call
    from warmset.window.request import Request
    from warmset.window.result import Window
    from warmset.window.summaries import CompactionPolicy, Prepare

LOG: Final = room("window")

ERASED_MEANWHILE: Final = 8
"""How often a window is rebuilt because one of its messages was erased meanwhile: where another
thread erases one after the other, a few times do not do."""


class Windows:
    """Builds the windows of a tenant's conversations.

    Args:
        handle: The open store.
        searcher: Finds turns.
        picker: Chooses from the shortlist; None chooses by score.
        compaction: Prepares summaries; None prepares none.
        prepare: Returns the summaries of a conversation.
    """

    def __init__(
        self,
        handle: Handle,
        searcher: Searcher,
        *,
        picker: Picker | None,
        compaction: CompactionPolicy | None,
        prepare: Prepare,
    ) -> None:
        self._handle = handle
        self._searcher = searcher
        self._picker = picker
        self._compaction = compaction
        self._prepare = prepare

    @property
    def compaction(self) -> CompactionPolicy | None:
        """Prepares summaries; None prepares none."""
        return self._compaction

    def window(self, conversation: str, ask: Ask) -> Window:
        """Build a window; see `Conversation.window`.

        Args:
            conversation: The conversation's name.
            ask: The checked arguments.

        Returns:
            The window.
        """
        if isinstance(ask.query, str):
            ask = replace(ask, query=self._handle.redactor.text(ask.query))
        for _ in range(ERASED_MEANWHILE):
            with suppress(Erased, NotFound):  # rebuild it without the erased message
                return self._any(conversation, ask)
        return self._any(conversation, ask)

    def _any(self, conversation: str, ask: Ask) -> Window:
        """Build a window in the mode that was asked for, or is chosen now."""
        if ask.mode == "auto":
            ask = replace(ask, mode=self._chosen(conversation, ask))
        return (self._steady if ask.mode == "steady" else self._window)(conversation, ask)

    def expect(
        self, conversation: str, budget: int | Budget, mode: Mode, options: WindowKeywords
    ) -> None:
        """Prepare to recognise the last window of another process in a list that is sent back.

        Args:
            conversation: The conversation's name.
            budget: The budget of the window that will be built for the list.
            mode: Its mode.
            options: Its other options.
        """
        refuse_unknown(options, "process", WindowOptions)
        if mode in ("steady", "auto"):
            ask = Ask(
                query=None,
                budget=input_tokens(budget),
                mode=mode,
                options=WindowOptions(**options),
            )
            SteadyWindows(self._handle, self._searcher, self._picker).expect(conversation, ask)

    def _window(self, conversation: str, ask: Ask) -> Window:
        started, engine = time.perf_counter(), self._handle.live()
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            request = read_request(engine, ledger, ask.query)
            call = call_of(engine, ledger, ask, request)
        pins = pins_of(engine, ledger, ask, request, call)
        while True:
            try:
                return self._built(conversation, ask, pins, started)
            except BudgetTooSmall as error:
                fewer = pins.fewer(error.need - error.have)
                if fewer is None:
                    raise
                pins = fewer

    def _built(self, conversation: str, ask: Ask, pins: Pins, started: float) -> Window:
        """Build a window beside pinned memories.

        Raises:
            BudgetTooSmall: What must stay does not fit beside them.
        """
        engine = self._handle.live()
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            request = read_request(engine, ledger, ask.query)
            given = call_of(engine, ledger, ask, request)
            pins = replace(pins, call=given)
            call = pins.beside
            tokens_in, tokens = (cost_of_all(engine, ledger, one) for one in (given, call))
            live = untouched(ledger, ask, tokens, call)
            entries = ledger.sendable()
        policy = None if ask.mode == "recency" else ask.options.compaction or self._compaction
        summaries = None if policy is None else self._prepare(engine, ledger, policy)
        one = OneWindow(
            engine=engine,
            ledger=ledger,
            ask=ask,
            request=request,
            call=call,
            pins=pins,
            report=ReportBuilder(engine, ledger, ask, tokens_in, started),
            summaries=summaries,
            memories=Remembering(engine, self._searcher, ledger, ask, request, pins),
        )
        if ask.mode == "full" and summaries is not None:
            made, compaction = summaries.full(call)
            window = one.finish(made, active=made.tokens < tokens, compaction=compaction)
            self._evicted(logging.WARNING, conversation, window, compaction.left_out)
            return window
        if live is not None and not one.memories.beside_whole:
            return one.finish(whole(engine, live, call), active=False, quotes=False)

        # evict: what stays verbatim, and the summary in front of the rest
        offered = None if summaries is None else summaries.offer(call)
        picker, weights = ask.options.picker or self._picker, self._searcher.weights
        key = key_of_choices(request, ask, call, weights, picker, policy)
        with engine.lock:
            choices = ExchangeChoices(engine, ledger, request, key, summaries)
            base = None
            if live is None:
                kept = choices.frozen
                base = stay(engine, ledger, ask, request, call, kept=kept, offered=offered)
        everything = WholeList(
            engine=engine,
            ledger=ledger,
            ask=ask,
            call=call,
            entries=entries,
            tokens=tokens,
            choices=choices,
            memories=one.memories,
        )
        if base is None:
            return one.unchanged(everything.made())
        least = least_tokens(engine, call, base)
        made_whole = everything.instead_of(least)
        if made_whole is None and ask.mode != "recency" and request.text:
            return self._retrieved(one, base, call.budget - least, everything, choices)
        made = assemble(engine, call, base) if made_whole is None else made_whole
        made_whole = made_whole or everything.instead_of(made.tokens)
        if made_whole is not None:
            return one.unchanged(made_whole)
        window = one.shown(made)
        if ask.mode == "recency":
            sent = window.report.turns_sent - (call.request is not None)
            self._evicted(logging.DEBUG, conversation, window, window.report.turns_in - sent)
        return window

    def _retrieved(
        self,
        one: OneWindow,
        base: Draft,
        left: int,
        everything: WholeList,
        choices: ExchangeChoices,
    ) -> Window:
        """Quote what the request needs beside what a window shows verbatim.

        Args:
            one: The window.
            base: What it shows verbatim.
            left: The tokens that this leaves.
            everything: The whole list, which may be sent instead.
            choices: The choices of the exchange.
        """
        engine, ledger, ask, request, call = one.engine, one.ledger, one.ask, one.request, one.call
        kept, weights = choices.frozen, self._searcher.weights

        # shortlist ─▶ pick ─▶ pack
        found = None if kept is None else kept.found
        if found is None:  # where another process chose, what is found is for the report alone
            found = self._shortlist(ledger, ask, request, base.frame)
        base = one.memories.choose(call, base, left, None if kept is None else kept.memories)
        if kept is not None:  # the picker is not called again
            picked = kept.picked_of(found)
            with engine.lock:
                draft = again(ledger, base, kept)
        else:
            picked = pick(ask.options.picker or self._picker, ask, request, found)
            draft = quote_and_index(engine, ledger, call, ask, base, found, picked, weights)
            draft = one.memories.unrepeated(draft)
        one.report.asked(picked)
        made = assemble(engine, call, draft)

        # saves enough? ─▶ window
        if (made_whole := everything.instead_of(made.tokens)) is not None:
            return one.unchanged(made_whole)
        one.report.retrieved(found, picked)
        with engine.lock:
            choices.keep(freeze(choices.key, found, picked, made.draft))
        return one.shown(made)

    def _chosen(self, conversation: str, ask: Ask) -> Mode:
        """Return the mode that "auto" stands for."""
        engine, ask = self._handle.live(), replace(ask, mode="jit")
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
            request = read_request(engine, ledger, ask.query)
            call = call_of(engine, ledger, ask, request)
            check_index_role(call, ask)
            live = ledger.live()
            now = time.time() if request.send is not None or not live else live[-1].at
            found = weigh(engine, ledger, ask, call, request, now)
            base = None
            if isinstance(found, Weighing):
                base = _stay_or_none(engine, ledger, ask, request, call)
        mode: Mode = found if isinstance(found, str) else "steady"
        if base is not None and isinstance(found, Weighing):
            mode = found.mode(least_tokens(engine, call, base))
            if mode == "jit" and request.text:  # so many tokens at least; now exactly
                hits = self._shortlist(ledger, ask, request, base.frame)
                picked = Picked(tuple(hits.ids), "score")
                weights = self._searcher.weights
                draft = quote_and_index(engine, ledger, call, ask, base, hits, picked, weights)
                mode = found.mode(assemble(engine, call, draft).tokens)
        with engine.lock:
            ledger.auto = mode, request.key
        return mode

    def _steady(self, conversation: str, ask: Ask) -> Window:
        started, engine = time.perf_counter(), self._handle.live()
        policy = ask.options.compaction or self._compaction
        with engine.lock:
            ledger = engine.ledger(self._handle.tenant, conversation)
        summaries = None if policy is None else self._prepare(engine, ledger, policy)
        steady = SteadyWindows(self._handle, self._searcher, self._picker)
        return steady.window(conversation, ask, summaries, started)

    def _evicted(self, level: int, conversation: str, window: Window, messages: int) -> None:
        """Log messages that were left out of a window with no summary in their place."""
        if messages <= 0:
            return
        report = window.report
        summarised = 0 if report.compaction is None else report.compaction.tokens_saved
        event(
            LOG,
            level,
            "evicted",
            tenant=self._handle.tenant,
            conversation=conversation,
            mode=report.mode,
            messages=messages,
            tokens=max(report.tokens_in - report.tokens_sent - summarised, 0),
            budget=window.budget,
        )

    def _shortlist(self, ledger: Ledger, ask: Ask, request: Request, parts: Frame) -> Found:
        shown = {entry.id for unit in parts.units() for entry in unit}
        with self._handle.engine.lock:
            messages, tokens = len(ledger.live()), ledger.accounts().roll.since(0)
        return self._searcher.shortlist(
            ledger,
            request.text,
            query_vector=ask.options.query_vector,
            k=max(ask.options.shortlist, ranked(ask.budget, messages, tokens)),
            wait=ask.options.wait,
            shown={*shown, request.id or 0},
        )


def _stay_or_none(
    engine: Engine, ledger: Ledger, ask: Ask, request: Request, call: Call
) -> Draft | None:
    """Return what a window shows verbatim; None if that does not fit."""
    try:
        return stay(engine, ledger, ask, request, call, kept=None)
    except BudgetTooSmall:
        return None
