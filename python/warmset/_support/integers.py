"""Whole numbers of any type: `int`, and those of arrays."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import SupportsIndex


def whole_number(given: object) -> int | None:
    """Return what is given as an int, if it is a whole number; a bool is none."""
    if not isinstance(given, bool) and isinstance(given, SupportsIndex):
        with suppress(TypeError):  # an array of several
            return index(given)
    return None
