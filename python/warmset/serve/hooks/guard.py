"""The context guard: how full the context is, and what follows from it.

At 65 % the agent is advised once, at 85 % it hands off once; under 50 % both may come again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from warmset.serve.hooks.transcripts import Usage

ADVISE: Final = 65
HAND_OFF: Final = 85
RESET: Final = 50
"""Per cent of the context."""

WINDOW: Final = 200_000
"""The context of a model about which nothing else is known, in tokens."""

LONG_WINDOW: Final = 1_000_000
"""The context of a model whose name says so, or that has used more than the usual one."""

_LONG: Final = "[1m]"

Step: TypeAlias = Literal["advise", "hand_off"]


def window_of(usage: Usage, given: int | None) -> int:
    """Return the context of a session's model in tokens.

    Args:
        usage: What its last call took.
        given: What the user said when the hooks were installed.
    """
    if given is not None:
        return given
    if usage.window is not None:
        return usage.window
    return LONG_WINDOW if _LONG in usage.model or usage.used > WINDOW else WINDOW


def step(state: dict[str, Any], usage: Usage, window: int) -> Step | None:
    """Tell what to do now, and note it in the session's state, so that it is done once.

    Args:
        state: The state of the session: `advised` and `handed_off` are read and set.
        usage: What the last call of the main thread took.
        window: The model's context in tokens.
    """
    share = usage.used * 100
    if share < RESET * window:
        state["advised"] = state["handed_off"] = False
    if share >= HAND_OFF * window and not state.get("handed_off"):
        return "hand_off"
    if share >= ADVISE * window and not state.get("advised"):
        return "advise"
    return None


def per_cent(usage: Usage, window: int) -> int:
    """Return the share of the context that is used, in whole per cent."""
    return usage.used * 100 // window
