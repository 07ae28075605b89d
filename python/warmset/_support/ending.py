"""Whether the process is about to end, for threads that may be in the middle of long work."""

from __future__ import annotations

import sys
import threading
from typing import Final

ENDING: Final = threading.Event()
"""Set when the interpreter ends; whoever works through a long list in a thread stops there."""

INTERRUPTED: Final = threading.Event()
"""Set when Ctrl-C left the `with` block of a memory."""


def is_interrupted() -> bool:
    """Return whether Ctrl-C is what ends the process."""
    return died_of_ctrl_c() or INTERRUPTED.is_set()


def died_of_ctrl_c() -> bool:
    """Return whether nobody caught the `KeyboardInterrupt`, so that its signal ends the process."""
    last = getattr(sys, "last_type", None)
    shell = hasattr(sys, "ps1") or sys.flags.interactive
    return isinstance(last, type) and issubclass(last, KeyboardInterrupt) and not shell
