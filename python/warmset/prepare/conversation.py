"""The summaries of one conversation under one policy, as windows ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.prepare.policy import policy_of
from warmset.prepare.preparation import of
from warmset.window.result import Compaction

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.prepare.policy import PreparedCompaction
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call


class ConversationSummaries:
    """What a conversation's preparation does for windows; see `window.summaries.Summaries`.

    In mode "jit" a summary is begun at the same share of the budget as for windows of mode "full":
    when the summary that there is and what is behind its boundary cost that much. There is no hard
    line, for such a window fits without a summary, and nobody waits for one.

    Args:
        engine: The store and index.
        ledger: The conversation.
        policy: Who writes summaries, and when.
    """

    def __init__(self, engine: Engine, ledger: Ledger, policy: PreparedCompaction) -> None:
        self._policy = policy
        self._prepared = of(engine, ledger.tenant, ledger.name)

    def full(self, call: Call, /) -> tuple[Assembled, Compaction]:
        """Make a window that shows everything, or a summary instead of the front."""
        return self._prepared.window(self._policy, call)

    def offer(self, call: Call, /) -> Settled | None:
        """Return the newest summary that is ready, and have another one begun if it is time."""
        return self._prepared.offer(self._policy, call)

    def shown(self, made: Assembled, /) -> Compaction:
        """Take note of whether the window shows a summary, and say what was done for it.

        Raises:
            Erased: What the summary says was erased while the window was made.
        """
        summary, without = made.draft.summary, made.draft.without
        applied, state, why = self._prepared.settled(self._policy, summary)
        return Compaction(
            state=state,
            boundary=0 if summary is None else summary.boundary,
            tokens=sum(part.tokens for part in made.parts if part.name == "summary"),
            applied=applied,
            why=None if summary is not None else without or why,
        )


def summaries_of(engine: Engine, ledger: Ledger, given: object) -> ConversationSummaries:
    """Return a conversation's summaries under what a caller gave as `compaction`.

    Raises:
        InvalidInputError: It is no `PreparedCompaction`.
    """
    policy = policy_of(given)
    assert policy is not None  # noqa: S101 - whoever asks has one
    return ConversationSummaries(engine, ledger, policy)
