"""Texts of turns on a terminal, which takes some characters for orders."""

from __future__ import annotations

import unicodedata
from typing import Final

_CONTROLS: Final = frozenset({"Cc", "Cf", "Cs"})
"""Categories of characters that a terminal may take for an order, or a reader for another text."""


def printable(text: str) -> str:
    """Return a text on one line, with nothing in it that a terminal would carry out."""
    kept = (one if unicodedata.category(one) not in _CONTROLS else "\ufffd" for one in text)
    return "".join(kept)
