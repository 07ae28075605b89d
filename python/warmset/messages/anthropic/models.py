"""Which models of Anthropic's take a system message among the messages.

Source: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
"""

from __future__ import annotations

import re
from typing import Final

_FIRST: Final = {
    "opus": (4, 8),
    "sonnet": (5, 5),
    "haiku": (5, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
}
"""The first version of each family that takes it."""

_VERSION: Final = r"(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
_OLD: Final = re.compile(rf"claude-(?:instant-)?v?{_VERSION}")
_NAME: Final = re.compile(rf"claude-([a-z]+)-{_VERSION}")


def refuses_system(model: str) -> bool:
    """Tell whether a model refuses a system message among the messages.

    Args:
        model: The name of a model, as "claude-sonnet-5" or "anthropic.claude-opus-4-1-v1:0".

    Returns:
        True for the models that are known to refuse it; False for every other name.
    """
    found = _NAME.search(model.lower())
    if found is None:
        return _OLD.search(model.lower()) is not None
    first = _FIRST.get(found[1])
    if first is None:
        return found[1] == "instant"
    return (int(found[2]), int(found[3] or 0)) < first
