"""Makes texts of turns safe for a terminal, which interprets some characters as commands."""

from __future__ import annotations

import unicodedata
from typing import Final

_CONTROLS: Final = frozenset({"Cc", "Cf", "Cs"})
"""Categories of characters that a terminal may interpret, or that a reader may mistake."""


def printable(text: str) -> str:
    """Return a text on one line, without anything that a terminal would interpret."""
    kept = (one if unicodedata.category(one) not in _CONTROLS else "\ufffd" for one in text)
    return "".join(kept)
