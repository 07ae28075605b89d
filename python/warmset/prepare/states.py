"""The states of a conversation's preparation, and their transitions.

```text
         trigger            accepted             budget
   idle ──────────▶ preparing ────────▶ ready ────────────────▶ applied
                     │  │  │               │                       │
      edit, erasure, │  │  │ close         │ edit, erasure,        │ edit, erasure,
      another policy ▼  │  ▼               ▼ another policy        ▼ another policy
                 stale  │  discarded     stale                   stale
                        ▼
                     failed ─▶ preparing, after a pause
```

From every other state, the trigger leads to `preparing` again, and a summary that another process
prepared leads to `ready`. While one summary is being written, an earlier one can still be applied.
A ready summary that a newer one replaces is discarded; its cost is counted as wasted.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from warmset._support.locks import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

State: TypeAlias = Literal["idle", "preparing", "ready", "stale", "applied", "discarded", "failed"]

STATES: Final[tuple[State, ...]] = get_args(State)

_ENDS: Final[frozenset[State]] = frozenset({"ready", "stale", "failed", "discarded"})
"""The states that can follow `preparing`."""

_SHOWN: Final[frozenset[State]] = frozenset({"applied"})
_AGAIN: Final[frozenset[State]] = frozenset({"preparing"})

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    "idle": frozenset({"preparing", "ready", "applied"}),
    "preparing": _ENDS | _SHOWN,
    "ready": _ENDS | _SHOWN | _AGAIN,
    "stale": _ENDS | _SHOWN | _AGAIN,
    "applied": _ENDS | _SHOWN | _AGAIN,
    "discarded": frozenset({"preparing", "ready", "stale", "applied"}),
    "failed": frozenset({"preparing", "ready", "stale", "applied"}),
}
"""The permitted transitions. One summary may be written while another is ready, shown or
invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A state change of a conversation's preparation.

    Args:
        conversation: The conversation's name.
        tenant: Its tenant's.
        before: The state before.
        state: The state now.
        why: The reason.
        boundary: The number of messages that the summary replaces; 0 if there is no summary.
        tokens: The tokens of the summary in a window.
        tokens_saved: Tokens that it saves in a window.
        spent: Tokens that the summarizer's model used.
        waited: Seconds that a window waited at the budget.
    """

    conversation: str
    tenant: str
    before: State
    state: State
    why: str
    boundary: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    spent: int = 0
    waited: float = 0.0


@dataclass(slots=True)
class Counters:
    """The counts of one policy's preparations.

    Args:
        prepared: Summaries that became ready.
        adopted: Ready summaries that another process, or an earlier one, had prepared.
        applied: Summaries that replaced their messages in a window.
        unused: Ready summaries that no window had shown when they were replaced, became invalid, or
            the memory was closed; those of other processes do not count.
        stale: Summaries that became invalid through an edit, an erasure or another policy.
        discarded: Summaries that were never used: replaced by a newer one, or stopped by `close`.
        refused: Texts that a summarizer returned and that are no summary: JSON, an error's text, or
            a text that states next to nothing of the messages, for example.
        failed: Attempts that produced no summary.
        fallbacks: Summaries that the fallback wrote, because the summarizer failed.
        evicted: Windows that left messages out without a summary.
        waits: Windows that waited at the budget.
        waited: Seconds that they waited in total.
        spent: Tokens that the summarizer's model used.
        wasted: Those of them that were used for summaries that were never shown, by the time the
            memory was closed.
        tokens_saved: Tokens that applied summaries saved in windows.
        faults: Exceptions that the event callback raised.
    """

    prepared: int = 0
    adopted: int = 0
    applied: int = 0
    unused: int = 0
    stale: int = 0
    discarded: int = 0
    refused: int = 0
    failed: int = 0
    fallbacks: int = 0
    evicted: int = 0
    waits: int = 0
    waited: float = 0.0
    spent: int = 0
    wasted: int = 0
    tokens_saved: int = 0
    faults: int = 0

    def as_dict(self) -> dict[str, int | float]:
        """Return the counts by their names."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@guarded("engine", writes=("state", "_unsent"), calls=("turn",))
@dataclass(slots=True)
class Track:
    """The state of a conversation's preparation, and its events and counts.

    Args:
        tenant: The tenant's name.
        conversation: The conversation's name.
        state: The state now.
    """

    tenant: str
    conversation: str
    state: State = "idle"
    _unsent: deque[Event] = field(default_factory=deque)

    def turn(
        self,
        state: State,
        why: str,
        *,
        boundary: int = 0,
        tokens: int = 0,
        tokens_saved: int = 0,
        spent: int = 0,
        waited: float = 0.0,
    ) -> None:
        """Change to another state.

        Raises:
            RuntimeError: The transition is not permitted; this is a bug in warmset.
        """
        if state not in TRANSITIONS[self.state]:
            raise RuntimeError(f"{self.state} ─▶ {state}: {why}")
        event = Event(
            conversation=self.conversation,
            tenant=self.tenant,
            before=self.state,
            state=state,
            why=why,
            boundary=boundary,
            tokens=tokens,
            tokens_saved=tokens_saved,
            spent=spent,
            waited=waited,
        )
        self.state = state
        self._unsent.append(event)

    def tell(self, callback: Callable[[Event], object] | None, counters: Counters) -> None:
        """Send the pending events; hold no lock, because the callback is user code."""
        with suppress(IndexError):  # several threads may tell at once, and others note more
            while True:
                event = self._unsent.popleft()
                try:
                    if callback is not None:
                        callback(event)
                except Exception:  # noqa: BLE001 - a window is not lost over a callback
                    counters.faults += 1
