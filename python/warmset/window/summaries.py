"""What a window asks of a prepared compaction; `warmset.prepare` answers."""

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
    """Who writes summaries, and when: `warmset.PreparedCompaction`."""

    @property
    def fingerprint(self) -> str:
        """What tells its summaries from those of another policy."""
        ...


class Summaries(Protocol):
    """The summaries of one conversation under one policy."""

    def full(self, call: Call, /) -> tuple[Assembled, Compaction]:
        """Make a window that shows everything, or a summary instead of the front."""
        ...

    def offer(self, call: Call, /) -> Settled | None:
        """Return the newest summary that is ready, and have another one begun if it is time."""
        ...

    def shown(self, made: Assembled, /) -> Compaction:
        """Take note of whether a window that quotes turns shows a summary."""
        ...


Prepare: TypeAlias = Callable[["Engine", "Ledger", CompactionPolicy], Summaries]
"""Finds the summaries of a conversation."""
