"""Reads spans of time as specs and policies give them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_DURATION: Final = re.compile(r"([1-9][0-9]{0,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(text: str) -> timedelta | None:
    """Return the span that a text such as "30d" or "12h" gives; None if it gives none.

    Args:
        text: A whole number over 0 and a unit: s, m, h, d or w.
    """
    found = _DURATION.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
