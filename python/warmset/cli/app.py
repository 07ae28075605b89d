"""The application: its commands, and the output and exit codes of errors."""

from __future__ import annotations

import io
import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Final

import cyclopts
from rich.console import Console
from rich.text import Text

from warmset.cli.exit_codes import FAILED, INTERRUPTED, MISUSED, NOT_INSTALLED
from warmset.errors import MissingExtraError, WarmsetError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: Final = {
    "compact": (
        "compaction:compact",
        "Drop the turns of a list with the lowest scores, and show which and why.",
    ),
    "demo": (
        "demo:demo",
        "Show the contents of windows of a long conversation, at equal tokens.",
    ),
    "doctor": (
        "upkeep:doctor",
        "Show the contents of a store and whether anything is wrong; nothing is changed.",
    ),
    "erase": ("upkeep:erase", "Erase a conversation and everything derived from it."),
    "eval": ("evaluate:app", "Measure retrieval on data with known evidence."),
    "export": (
        "upkeep:export",
        "Write records as JSON lines, for warmset import or for the person concerned.",
    ),
    "history": (
        "compaction:history",
        "List the compactions that a store has recorded; nothing is changed.",
    ),
    "import": ("upkeep:import_", "Append what warmset export wrote, under new ids."),
    "model": ("model:app", "The local embedding model: locate, download, verify."),
    "rpc": ("rpc:rpc", "Answer JSON-RPC 2.0 on standard input and output, one object a line."),
    "verify": ("upkeep:verify", "Read and check every byte of a store; nothing is changed."),
}
"""Each command with its module, which is imported when it is called, and its line in the help."""


def application(tokens: Sequence[str]) -> cyclopts.App:
    """Build the application for a command line; only the called command is imported."""
    app = cyclopts.App(
        name="warmset",
        help="Virtual memory for the context window of a language model.",
        version=lambda: metadata.version("warmset"),
        suppress_keyboard_interrupt=False,  # `run` answers it
    )
    for name, (place, line) in COMMANDS.items():
        called = bool(tokens) and tokens[0] == name  # its own help page needs the whole function
        app.command(f"warmset.cli.{place}", name=name, help=None if called else line)
    return app


def run(tokens: Sequence[str]) -> int:
    """Run a command line.

    Args:
        tokens: The arguments, without the program's name.

    Returns:
        The exit code: 1 for an error, 2 for wrong arguments or a missing extra, 130 for Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test's capture may be something else
            stream.reconfigure(errors="replace")
    try:
        code = application(tokens)(
            tokens, exit_on_error=False, print_error=False, result_action="return_value"
        )
        if sys.stdout is not None:  # it may be closed already
            sys.stdout.flush()
    except (cyclopts.CycloptsError, ImportError, KeyboardInterrupt, OSError, WarmsetError) as error:
        return _ended(error)
    return code if isinstance(code, int) else 0


def _ended(error: BaseException) -> int:
    """Print what ended a command, and return its exit code."""
    cause = error.__cause__ if isinstance(error, ImportError) else None
    if isinstance(cause, MissingExtraError):  # while the command was imported
        error = cause
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, MissingExtraError):
        return _failed(error, NOT_INSTALLED)
    if isinstance(error, WarmsetError):
        return _failed(error, FAILED)
    if isinstance(error, cyclopts.CycloptsError):
        return _failed(f"{str(error).rstrip('.')}; see warmset --help", MISUSED)
    if isinstance(error, OSError):
        return _unwritten(error)
    raise error


def _unwritten(error: OSError) -> int:
    if error.filename is not None:
        return _failed(f"{error.filename}: {error.strerror}", FAILED)
    # Avoid an error message at exit about unwritten output.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # the reader closed the pipe
        return FAILED
    return _failed(f"the output cannot be written: {error.strerror or error}", FAILED)


def _failed(error: object, code: int) -> int:
    line = " ".join(str(error).split())
    Console(stderr=True, soft_wrap=True).print(Text(f"error: {line}", style="red"))
    return code
