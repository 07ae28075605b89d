"""Ctrl-C: the command ends within a second, with exit code 130 and without a word.

The first one raises `KeyboardInterrupt`, so that temporary files are removed and stores closed.
What takes longer than `GRACE` is cut short: a store survives that at any moment. The interpreter
does not end as usual, because it would wait for threads, or abort those that are inside a library.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from warmset.cli.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

GRACE: Final = 0.6
"""Seconds from Ctrl-C to the end of the process, whatever it does."""


class Interrupts:
    """The handler of SIGINT while a command runs."""

    def __init__(self) -> None:
        self.came = False

    def run(self, command: Callable[[], int]) -> NoReturn:
        """Run a command, and end the process with its exit code, or with 130 after Ctrl-C.

        A process that was started to ignore the signal, as the shell does in the background, goes
        on ignoring it.

        Args:
            command: Returns the exit code.
        """
        heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if heeded:
            signal.signal(signal.SIGINT, self._handle)
        code = INTERRUPTED
        try:
            code = command()
        except BaseException:
            if not self.came:
                raise
        finally:
            if heeded and not self.came:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                # The work is done; the interpreter would die of the signal while it ends.
                atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        if self.came:
            self._leave()
        sys.exit(code)

    def _handle(self, _number: int, _frame: object) -> None:
        if self.came:  # the second one
            os._exit(INTERRUPTED)
        self.came = True
        # The exception may come out in a place that cannot raise it.
        sys.unraisablehook = lambda _: None
        threading.excepthook = lambda _: None
        _thread.start_new_thread(self._leave_soon, ())
        raise KeyboardInterrupt

    def _leave_soon(self) -> None:
        time.sleep(GRACE)
        if sys.stderr is not None and sys.stderr.isatty():
            os.write(2, b"\x1b[?25h")  # progress bars hide the cursor
        os._exit(INTERRUPTED)

    def _leave(self) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(INTERRUPTED)
