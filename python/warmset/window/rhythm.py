"""How the last calls of a conversation followed each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.money.forecast import CALLS, Rhythm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.state.entry import Entry

LOOKED_AT: Final = 256
"""The newest messages from which the rhythm is read."""


def rhythm_of(live: Sequence[Entry], now: float) -> Rhythm:
    """Return how the last calls of a conversation followed each other.

    Args:
        live: Its messages.
        now: The time of the next call, in seconds since 1970 UTC.
    """
    newest = live[-LOOKED_AT:]
    replies = [at for at, one in enumerate(newest) if one.facts.role == "assistant"]
    calls = [at for at in replies if at == 0 or newest[at - 1].facts.role != "assistant"]
    gaps: list[float] = []
    begins: list[bool] = []
    for before, at in zip(reversed(calls[:-1]), reversed(calls[1:]), strict=True):
        gaps.append(max(newest[at].at - newest[before].at, 0.0))
        asked = newest[at - 1].facts
        begins.append(asked.request and not asked.results)
    idle = max(now - newest[calls[-1]].at, 0.0) if calls else None
    counted = newest[calls[-CALLS] if len(calls) > CALLS else 0 :]
    growth = sum(one.tokens for one in counted) / max(min(len(calls), CALLS), 1)
    return Rhythm(idle, gaps[: CALLS - 1], begins[: CALLS - 1], growth)
