"""Summaries in windows that quote turns: the newest that is ready, and nobody waits for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.prepare.preparation import of
from warmset.window import Compaction

if TYPE_CHECKING:
    from warmset.assemble import Assembled
    from warmset.calls import Call
    from warmset.chosen import Settled
    from warmset.engine import Engine
    from warmset.ledger import Ledger
    from warmset.prepare.policy import PreparedCompaction


class Settling:
    """What a conversation's preparation does for one window of mode "jit".

    The summary is begun at the soft line as for windows of mode "full": when the summary that there
    is and what is behind its mark cost that share of the budget. There is no hard line, for such a
    window fits without a summary.

    Args:
        engine: The store and index.
        ledger: The conversation.
        policy: Who writes summaries, and when; None for nobody.
        call: What the messages are for.
    """

    def __init__(
        self, engine: Engine, ledger: Ledger, policy: PreparedCompaction | None, call: Call
    ) -> None:
        self._policy = policy
        self._prepared = None if policy is None else of(engine, ledger.tenant, ledger.name)
        self.offered: Settled | None = None
        if policy is not None and self._prepared is not None:
            self.offered = self._prepared.offer(policy, call)

    def told(self, made: Assembled) -> Compaction | None:
        """Take note of whether the window shows a summary, and say what was done for it.

        Raises:
            Erased: What the summary says was erased while the window was made.
        """
        if self._policy is None or self._prepared is None:
            return None
        summary, without = made.draft.summary, made.draft.without
        swapped, state, why = self._prepared.settled(self._policy, summary)
        return Compaction(
            state=state,
            mark=0 if summary is None else summary.mark,
            tokens=sum(part.tokens for part in made.parts if part.name == "summary"),
            swapped=swapped,
            why=None if summary is not None else without or why,
        )
