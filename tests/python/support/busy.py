"""A store whose lock somebody else holds."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager


@contextmanager
def held_elsewhere(path):
    """Hold the lock of a store, as another process does."""
    with (path / "lock").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
