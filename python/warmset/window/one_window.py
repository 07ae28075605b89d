"""A window on its way through the stages, and its end: pinned memories, and the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.pinned import Pins
    from warmset.window.remembering import Remembering
    from warmset.window.render import Call
    from warmset.window.report_builder import ReportBuilder
    from warmset.window.request import Ask, Request
    from warmset.window.result import Compaction, Window
    from warmset.window.summaries import Summaries


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWindow:
    """A window that is being built.

    Args:
        engine: The store.
        ledger: The conversation.
        ask: The arguments of the window.
        request: The request.
        call: The call as everything but pinned memories is made for it.
        pins: The pinned memories.
        report: Gathers the data of the report.
        summaries: The conversation's summaries; None without a policy.
        memories: What else is quoted of memories.
    """

    engine: Engine
    ledger: Ledger
    ask: Ask
    request: Request
    call: Call
    pins: Pins
    report: ReportBuilder
    summaries: Summaries | None
    memories: Remembering

    def shown(self, made: Assembled) -> Window:
        """Return a window that leaves something out."""
        return self.finish(made, active=True, compaction=self._compaction(made))

    def unchanged(self, made: Assembled) -> Window:
        """Return a window that shows all messages."""
        quotes = bool(self.memories.ids)
        compaction = self._compaction(made)
        return self.finish(made, active=quotes, compaction=compaction, quotes=False)

    def finish(
        self,
        made: Assembled,
        *,
        active: bool,
        compaction: Compaction | None = None,
        quotes: bool = True,
    ) -> Window:
        """Return the window with its pinned memories and its report.

        Args:
            made: The messages.
            active: Whether anything was left out or quoted.
            compaction: What a prepared compaction did.
            quotes: Whether what is quoted of memories is what the draft of the messages has.

        Raises:
            BudgetTooSmall: All that must be shown exceeds the budget.
            Erased: A memory was erased meanwhile.
        """
        with self.engine.lock:
            choices = self.memories.choices(made if quotes else None)
        self.report.remembered(choices, self.memories.note)
        sent = replace(self.call, budget=self.ask.budget)
        made, active = self.pins.added(made), active or bool(self.pins.shown)
        return self.report.window(made, sent, active=active, compaction=compaction)

    def _compaction(self, made: Assembled) -> Compaction | None:
        return None if self.summaries is None else self.summaries.shown(made)
