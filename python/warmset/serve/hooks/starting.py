"""Starts the helper, detached from the agent, at most once in a while."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

from warmset.serve.hooks import files

if TYPE_CHECKING:
    from warmset.serve.hooks.places import Places

PAUSE: Final = 20.0
"""Seconds between two starts: a helper that cannot live is not started at each event."""


def start(places: Places) -> bool:
    """Start the helper, unless one lives, or was started a moment ago.

    Returns:
        Whether it was started.

    Raises:
        OSError: It cannot be started.
    """
    if not _is_time(places.started) or _lives(places.helper_lock):
        return False
    files.replace(places.started, b"")
    root = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))
    here = os.path.join(root, "warmset", "serve", "hooks", "resident.py")
    command = [sys.executable, here, places.memory]
    if not hasattr(os, "posix_spawn"):
        return False  # without a local socket, nobody could ask it
    null = os.devnull
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, null, os.O_WRONLY, 0),
    ]
    try:
        os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # its own session, where the system cannot give it one, is a luxury
        os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setpgroup=0)
    return True


def _is_time(path: str) -> bool:
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < PAUSE
    except FileNotFoundError:
        return True


def _lives(lock: str) -> bool:
    """Return whether a helper has its lock."""
    try:
        number = os.open(lock, os.O_RDWR | files.NO_LINKS)
    except FileNotFoundError:
        return False
    try:
        return not files.try_lock(number)
    finally:
        os.close(number)
