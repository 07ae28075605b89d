"""The summary after the task: whether a window shows one, and how much room it may take.

```text
system ─ task ─ summary │ index, quotes │ recent units │ request, and the tool steps since
     stable front       │   retrieved   │          verbatim tail
```

The summary changes with a request and not within an exchange, so that the front of a tool loop
stays the same. The exception: when steps of the exchange have to be left out, the rest changes with
every call anyway. The summary takes no room from the recent units: it is left out before they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.options import SUMMARY_SHARE
from warmset.window.assemble import NO_ROOM, Draft
from warmset.window.layout import cost, fit_tail, must_stay
from warmset.window.render import frame_tokens

if TYPE_CHECKING:
    from warmset.engine.engine import Engine
    from warmset.state.ledger import Ledger
    from warmset.window.choices import Frozen, Settled
    from warmset.window.layout import Frame
    from warmset.window.render import Call

ALL_SHOWN: Final = "all that it stands for is shown verbatim"
BEGUN: Final = "it was ready after the exchange had begun"


def settle(
    engine: Engine,
    call: Call,
    parts: Frame,
    room: int,
    share: float,
    *,
    kept: Frozen | None,
    offered: Settled | None,
) -> Draft:
    """Fit the verbatim tail, and choose the summary that is shown after the task.

    Args:
        engine: The store, which knows the stored summaries.
        call: The call that the messages are for.
        parts: The units that would be shown verbatim.
        room: Tokens for everything but the head.
        share: The share of the room left by the exchange that recent units may take.
        kept: The choices of the exchange's last window.
        offered: The summary that is ready.

    Returns:
        The frame with the tail that fits, and the summary.
    """
    if offered is not None and sum(map(cost, parts.current)) > room:  # some steps do not fit
        tokens = summary_tokens(engine, call, offered)
        if tokens <= (room - must_stay(parts)) * SUMMARY_SHARE:
            fitted = fit_tail(parts, room - tokens, share)
            if _says_more(offered, fitted):
                return Draft(fitted, summary=offered)
    fitted = fit_tail(parts, room, share)
    one, part = offered, SUMMARY_SHARE
    if kept is not None:
        one, part = kept.summary, 1.0
        if (
            one is not None and one.id is not None and one.id not in engine.derived
        ):  # erased meanwhile
            one = None
    if one is None:
        return Draft(fitted, without=None if offered is None else BEGUN)
    if not _says_more(one, fitted):
        return Draft(fitted, without=ALL_SHOWN)
    left = room - sum(cost(unit) for unit in (*fitted.recent, *fitted.current))
    if summary_tokens(engine, call, one) > left * part:
        return Draft(fitted, without=NO_ROOM)
    return Draft(fitted, summary=one)


def summary_tokens(engine: Engine, call: Call, summary: Settled | None) -> int:
    """Return the tokens that a summary takes in a window."""
    if summary is None:
        return 0
    return summary.tokens + frame_tokens(call.source, engine.encoding)


def erased_of(engine: Engine, ledger: Ledger, summary: Settled) -> int | None:
    """Return the id of an erased record that a summary depends on: its own, or a message's."""
    if summary.id is not None:
        return None if summary.id in engine.derived else summary.id
    return next((id_ for id_ in summary.ids if id_ not in ledger.entries), None)


def _says_more(summary: Settled, parts: Frame) -> bool:
    """Return whether a summary replaces any message that is not shown verbatim."""
    shown = {entry.id for unit in parts.units() for entry in unit}
    return any(id_ not in shown for id_ in summary.ids)
