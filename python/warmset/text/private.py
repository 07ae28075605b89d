"""Leaves out what stands between `<private>` and `</private>`."""

from __future__ import annotations

import re
from typing import Final

PRIVATE: Final = "[private]"
"""What stands in place of a text that was left out."""

_TAG: Final = re.compile(r"<\s*(/?)\s*private(?:\s[^<>]*)?>", re.IGNORECASE)


def has_tag(text: str) -> bool:
    """Return whether a text may have a tag, so that it must be looked through."""
    return "<" in text


def without_private(text: str) -> str:
    """Return a text without what stands between `<private>` tags.

    Tags may have attributes, be in any case and stand in each other; then the outermost pair
    counts. A tag that is not closed hides the rest of the text. `<private />` hides nothing, and
    neither does `</private>` alone.

    Args:
        text: The text.

    Returns:
        The text with `[private]` in place of each such part; the same object if there is none.
    """
    if not has_tag(text):
        return text
    parts: list[str] = []
    shown = depth = 0
    for tag in _TAG.finditer(text):
        if tag.group(1):
            if depth == 1:
                shown = tag.end()
            depth = max(depth - 1, 0)
        elif not tag.group().endswith("/>"):
            if not depth:
                parts += (text[shown : tag.start()], PRIVATE)
            depth += 1
    if not parts:
        return text
    return "".join(parts if depth else [*parts, text[shown:]])
