"""Names and ids as providers take them: of tools, of calls, of people."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_OF_PEOPLE: Final = re.compile(r"[\s<|\\/>]+")


def plain(text: str, longest: int | None = None) -> str:
    """Write an id or a name with letters, digits, _ and - only.

    Args:
        text: The id or name.
        longest: The most characters that it may have; None for any number.

    Returns:
        The same text where it is written so already; "_" for an empty one.
    """
    return _UNSAFE.sub("_", text)[:longest] or "_"


def person(text: str) -> str:
    """Write a participant's name without the characters that OpenAI refuses in one."""
    return _NOT_OF_PEOPLE.sub("_", text)
