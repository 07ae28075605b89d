"""The states of a conversation's preparation, and what happens between them.

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

From every other state the trigger leads to `preparing` again, and a summary that another process
prepared to `ready`. While one summary is being written an earlier one may still be applied in. A
ready summary that a newer one overtakes is discarded; its cost is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

State: TypeAlias = Literal["idle", "preparing", "ready", "stale", "applied", "discarded", "failed"]

STATES: Final[tuple[State, ...]] = get_args(State)

_ENDS: Final[frozenset[State]] = frozenset({"ready", "stale", "failed", "discarded"})
"""What a summary that is being written may come to."""

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
"""What may follow what. One summary may be written while another one is ready, shown or void."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a conversation's preparation.

    Args:
        conversation: The conversation's name.
        tenant: Its tenant's.
        before: The state before.
        state: The state now.
        why: What led there.
        boundary: How many messages the summary that this is about stands for; 0 if none is.
        tokens: What that summary costs in a window.
        tokens_saved: Tokens that it takes off a window.
        spent: Tokens that the summariser's model took.
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
    """What became of the preparations of one policy.

    Args:
        prepared: Summaries that became ready.
        adopted: Summaries that another process, or an earlier one, had made ready.
        applied: Summaries that took their messages' place.
        stale: Summaries that no longer fitted, because of an edit, an erasure or another policy.
        discarded: Summaries that were never used: overtaken by a newer one, or cut off by `close`.
        failed: Attempts that gave no summary.
        fallbacks: Summaries that the fallback wrote, because the summariser failed.
        evicted: Windows that left messages out without a summary.
        waits: Windows that waited at the budget.
        waited: Seconds that they waited in all.
        spent: Tokens that the summariser's model took.
        wasted: Those of them that went into summaries that were not used.
        tokens_saved: Tokens that swaps took off windows.
        faults: Exceptions that the event callback raised.
    """

    prepared: int = 0
    adopted: int = 0
    applied: int = 0
    stale: int = 0
    discarded: int = 0
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


@dataclass(slots=True)
class Track:
    """Where a conversation's preparation is, and who is told.

    Args:
        tenant: The tenant's name.
        conversation: The conversation's name.
        state: The state now.
    """

    tenant: str
    conversation: str
    state: State = "idle"
    _untold: list[Event] = field(default_factory=list)

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
        """Go to another state.

        Raises:
            RuntimeError: It may not follow this one; a mistake of warmset.
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
        self._untold.append(event)

    def tell(self, callback: Callable[[Event], object] | None, counters: Counters) -> None:
        """Tell what happened since; not under a lock, for the callback is the caller's."""
        told, self._untold = self._untold, []
        for event in told if callback is not None else ():
            try:
                callback(event)  # type: ignore[misc]  # there is one
            except Exception:  # noqa: BLE001 - a window is not lost over a callback
                counters.faults += 1
