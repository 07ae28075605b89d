"""The summaries of one conversation under one policy, as windows use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.prepare.policy import policy_of
from warmset.prepare.preparation import of
from warmset.summarize import ProviderCompaction
from warmset.window.result import Compaction

if TYPE_CHECKING:
    from collections.abc import Collection

    from warmset.engine.engine import Engine
    from warmset.prepare.policy import PreparedCompaction
    from warmset.prepare.preparation import Preparation
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.summaries import PrefixOf, Returned, SentOut


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
        self,
        call: Call,
        /,
        *,
        share: float | None = None,
        wait: bool = False,
        prefix: PrefixOf | None = None,
    ) -> Settled | None:
        """Return the newest summary that is ready, and start another one if it is due."""
        return self._prepared.offer(self._policy, call, share=share, wait=wait, prefix=prefix)

    def stored(self, id_: int, /) -> Settled | None:
        """Return a summary by its record's id; None if it is not one of the policy's any more."""
        return self._prepared.stored(self._policy, id_)

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

    @property
    def compactions(self) -> ConversationCompactions | None:
        """The compactions of the provider; None where a summarizer writes."""
        if not isinstance(self._policy.summarizer, ProviderCompaction):
            return None
        return ConversationCompactions(self._prepared, self._policy, self._policy.summarizer)


class ConversationCompactions:
    """Implements `window.summaries.Compactions` for one conversation.

    Args:
        prepared: The preparation of the conversation.
        policy: Who is asked, and when.
        writer: Who is asked.
    """

    def __init__(
        self, prepared: Preparation, policy: PreparedCompaction, writer: ProviderCompaction
    ) -> None:
        self._prepared = prepared
        self._policy = policy
        self._writer = writer

    def obstacle(self, call: Call, /) -> str | None:
        """Return why the provider cannot be asked now; None if it can, or is being asked."""
        if call.source != self._writer.dialect or call.target != self._writer.dialect:
            return f"{type(self._writer).__name__} compacts lists in {self._writer.dialect!r} only"
        return self._prepared.obstacle(self._policy, call.model)

    def arrived(self, tokens: Collection[str], /, *, wait: bool = False) -> Returned | None:
        """Return what the provider returned for a list of the current epoch."""
        return self._prepared.arrived(self._policy, tokens, wait=wait)

    def ask(self, sent: SentOut, budget: int, /) -> None:
        """Ask the provider in the background, from the policy's trigger on."""
        self._prepared.ask(self._policy, sent, budget)

    def give_up(self, why: str, /) -> None:
        """Do without what was asked for or has arrived."""
        self._prepared.give_up(self._policy, why)

    def applied(self, one: Returned, /) -> None:
        """Take note that a list shows what the provider returned."""
        self._prepared.replaced(self._policy, one)


def summaries_of(engine: Engine, ledger: Ledger, given: object) -> ConversationSummaries:
    """Return a conversation's summaries under the policy that a caller passed as `compaction`.

    Raises:
        InvalidInputError: It is not a `PreparedCompaction`.
    """
    policy = policy_of(given)
    assert policy is not None  # noqa: S101 - whoever asks has one
    return ConversationSummaries(engine, ledger, policy)
