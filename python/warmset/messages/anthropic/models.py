"""What models of Anthropic's take: system messages in place, a reply begun for them, old thinking.

Sources: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages,
.../api/errors (prefill), .../build-with-claude/extended-thinking and the page on preserved
thinking. A name that is not known is taken for a model that takes what any model takes.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

_Version: TypeAlias = tuple[int, int]

COMPACTING: Final = "compact-2026-09-04"
"""The beta header of a request for a compaction, and of every later one that carries its block."""

_TAKES_SYSTEM: Final[dict[str, _Version]] = {
    "opus": (4, 8),
    "sonnet": (5, 5),
    "haiku": (5, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
}
"""The first version of each family that takes a system message among the messages."""

_NO_PREFILL: Final[dict[str, _Version]] = {
    "opus": (4, 6),
    "sonnet": (4, 6),
    "haiku": (5, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
}
"""The first version of each family that refuses a list that ends with the assistant."""

_ADAPTIVE: Final[dict[str, _Version]] = _NO_PREFILL
"""The first version of each family that thinks where it sees fit, also behind a text."""

_BOUND: Final[dict[str, _Version]] = {
    "opus": (5, 5),
    "sonnet": (5, 5),
    "haiku": (5, 5),
    "fable": (5, 1),
    "mythos": (5, 1),
}
"""The first version of each family whose thinking is bound to what stood before it."""

_REFUSES_CHANGED: Final[dict[str, _Version]] = {"fable": (5, 2), "mythos": (5, 1)}
"""The first version of each family that refuses changed thinking for every account."""

_PARTS: Final = r"(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
_OLD: Final = re.compile(rf"claude-(?:instant-)?v?{_PARTS}")
_NAME: Final = re.compile(rf"claude-([a-z]+)-{_PARTS}")


def refuses_system(model: str) -> bool:
    """Tell whether a model is known to refuse a system message among the messages.

    Args:
        model: The name of a model, as "claude-sonnet-5" or "anthropic.claude-opus-4-1-v1:0".
    """
    return _is_older(model, _TAKES_SYSTEM) is True


def refuses_prefill(model: str) -> bool:
    """Tell whether a model is known to refuse a list that ends with the assistant.

    Args:
        model: The name of a model.
    """
    return _is_older(model, _NO_PREFILL) is False


def thinks_first(model: str) -> bool:
    """Tell whether a model is known to refuse a thinking turn that does not begin with thinking.

    Args:
        model: The name of a model.
    """
    return _is_older(model, _ADAPTIVE) is True


def thinks_at_will(model: str) -> bool:
    """Tell whether a model is known to think where it sees fit, also behind a text.

    Args:
        model: The name of a model.
    """
    return _is_older(model, _ADAPTIVE) is False


def binds_thinking(model: str) -> bool:
    """Tell whether a model may refuse thinking before which something changed.

    Args:
        model: The name of a model; one that is not known may.
    """
    return _is_older(model, _BOUND) is not True


def refuses_changed_thinking(model: str) -> bool:
    """Tell whether a model is known to refuse thinking before which something changed.

    Others that bind their thinking refuse it or drop it, by account.

    Args:
        model: The name of a model.
    """
    return _is_older(model, _REFUSES_CHANGED) is False


def _is_older(model: str, firsts: dict[str, _Version]) -> bool | None:
    """Tell whether a model is older than the first version of its family; None if not known."""
    found = _NAME.search(model.lower())
    if found is None:
        return True if _OLD.search(model.lower()) else None
    first = firsts.get(found[1])
    if first is None:
        return True if found[1] == "instant" else None
    return (int(found[2]), int(found[3] or 0)) < first
