"""Moments at which several waits, one after the other, have to be over."""

from __future__ import annotations

import time


def time_left(end: float) -> float:
    """Return the seconds until a moment of `time.monotonic`; 0 if it has passed."""
    return max(end - time.monotonic(), 0.0)
