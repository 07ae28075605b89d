"""Running a command with a limit of time and of memory, together with all that it starts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

MEMORY_SHARE = 2  # a command may take one half of the machine's memory
TICK_SECONDS = 0.5


@dataclass(frozen=True)
class Ran:
    """How a command ended; `code` is None if it was stopped at its limit of time."""

    code: int | None
    output: str
    seconds: float


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    tick: Callable[[], None] | None = None,
    grace: float = 0.0,
) -> Ran:
    """Run a command, and end it with its children when it takes too long or we are interrupted.

    Args:
        command: Program and arguments.
        cwd: Where it runs.
        env: What is added to the environment.
        timeout: Seconds that it may take.
        tick: Called about twice a second while it runs.
        grace: Seconds that it has after a Ctrl-C of ours, for one that has to end others itself.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603 - the lists of this repository say what is run
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _limit_memory(process.pid)
            code = _wait(process, began, timeout, tick)
        finally:
            _end(process, grace)
        output.seek(0)
        said = output.read().decode(errors="replace")
    return Ran(code, said, time.monotonic() - began)


def _wait(
    process: subprocess.Popen[bytes],
    began: float,
    timeout: float | None,
    tick: Callable[[], None] | None,
) -> int | None:
    while True:
        left = None if timeout is None else began + timeout - time.monotonic()
        if left is not None and left <= 0:
            return None
        try:
            step = TICK_SECONDS if tick else None
            return process.wait(min((s for s in (step, left) if s is not None), default=None))
        except subprocess.TimeoutExpired:
            if tick:
                tick()


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Kill what is left of the command's process group: also children that outlived it."""
    if grace and process.poll() is None:
        process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _limit_memory(pid: int) -> None:
    """Keep a mutant that collects without end from taking the machine with it."""
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415 - not on Windows

    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEMORY_SHARE
    # It may have ended, or the machine does not let us.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
