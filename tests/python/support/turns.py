"""Turns about a few things, the same ones every time."""

from __future__ import annotations

from other_process import said

THINGS = ("car", "boat", "umbrella", "garden", "teapot", "bicycle", "lamp")


def talk(count, start=0):
    """Messages with the same words in several, and some that say nothing new."""
    return [
        said("ok" if n % 5 == 4 else f"the {THINGS[n % 7]} number {n} is near the {THINGS[n % 4]}")
        for n in range(start, start + count)
    ]
