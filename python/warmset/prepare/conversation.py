"""The summaries of one conversation under one policy, as windows use them."""

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
    """Implements `window.summaries.Summaries` for one conversation.

    In mode "jit", a summary is started at the same share of the budget as in mode "full": when the
    current summary and the messages after its boundary have that many tokens. No such window waits
    for a summary, because it fits without one.

    Args:
        engine: The store and index.
        ledger: The conversation.
        policy: Who writes summaries, and when.
    """

    def __init__(self, engine: Engine, ledger: Ledger, policy: PreparedCompaction) -> None:
        self._policy = policy
        self._prepared = of(engine, ledger.tenant, ledger.name)

    def full(self, call: Call, /) -> tuple[Assembled, Compaction]:
        """Build a window that shows all messages, or a summary in place of the oldest."""
        return self._prepared.window(self._policy, call)

    def offer(
        self, call: Call, /, *, share: float | None = None, wait: bool = False
    ) -> Settled | None:
        """Return the newest summary that is ready, and start another one if it is due."""
        return self._prepared.offer(self._policy, call, share=share, wait=wait)

    def shown(self, made: Assembled, /) -> Compaction:
        """Record whether the window shows a summary, and return the report of the preparation.

        Raises:
            Erased: The summary's record or a message that it replaces was erased meanwhile.
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
    """Return a conversation's summaries under the policy that a caller passed as `compaction`.

    Raises:
        InvalidInputError: It is not a `PreparedCompaction`.
    """
    policy = policy_of(given)
    assert policy is not None  # noqa: S101 - whoever asks has one
    return ConversationSummaries(engine, ledger, policy)
