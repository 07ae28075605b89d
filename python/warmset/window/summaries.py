"""The interface between windows and a prepared compaction; `warmset.prepare` implements it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.assemble import Assembled
    from warmset.window.choices import Settled
    from warmset.window.render import Call
    from warmset.window.result import Compaction


class CompactionPolicy(Protocol):
    """Decides who writes summaries, and when: `warmset.PreparedCompaction`."""

    @property
    def fingerprint(self) -> str:
        """Identifies the policy's summaries among those of other policies."""
        ...


class Summaries(Protocol):
    """The summaries of one conversation under one policy."""

    def full(self, call: Call, /) -> tuple[Assembled, Compaction]:
        """Build a window that shows all messages, or a summary in place of the oldest."""
        ...

    def offer(
        self, call: Call, /, *, share: float | None = None, wait: bool = False
    ) -> Settled | None:
        """Return the newest summary that is ready, and start another one if it is due.

        Args:
            call: What the messages are for.
            share: The share of the budget that a summary may have; None for the usual one.
            wait: Whether to wait for the summary that is being written, up to the policy's
                deadline.
        """
        ...

    def shown(self, made: Assembled, /) -> Compaction:
        """Record whether a window that quotes turns shows a summary."""
        ...


Prepare: TypeAlias = Callable[["Engine", "Ledger", CompactionPolicy], Summaries]
"""Returns the summaries of a conversation under a policy."""
