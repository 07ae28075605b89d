"""The application: its commands, and the output and exit codes of errors."""

from __future__ import annotations

import io
import json
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
    "bench": ("bench:bench", "Measure warmset on this machine, beside peers that are installed."),
    "compact": (
        "compaction:compact",
        "Drop the turns of a list with the lowest scores, and show which and why.",
    ),
    "completion": (
        "complete:completion",
        "Print a script with which a shell completes commands, options and files.",
    ),
    "demo": (
        "demo:demo",
        "Show the contents of windows of a long conversation, at equal tokens.",
    ),
    "doctor": (
        "upkeep:doctor",
        "Show the contents of a store and whether anything is wrong; nothing is changed.",
    ),
    "erase": (
        "upkeep:erase",
        "Erase a conversation, everything derived from it, and copies of its messages.",
    ),
    "eval": ("evaluate:app", "Measure retrieval on data with known evidence."),
    "export": (
        "upkeep:export",
        "Write records as JSON lines, for warmset import or for the person concerned.",
    ),
    "history": (
        "compaction:history",
        "List the compactions and prepared summaries on record in a store; nothing is changed.",
    ),
    "hooks": (
        "hooks:app",
        "Give Claude Code or Codex a memory by its hooks: install, uninstall, status.",
    ),
    "import": (
        "importing:import_",
        "Import conversations from files of agents, chats, and warmset export.",
    ),
    "lint": (
        "lint:lint",
        "Show what breaks the prompt cache between consecutive requests, and what it costs.",
    ),
    "mcp": ("mcp:mcp", "Give agents a memory over the Model Context Protocol."),
    "model": ("model:app", "The local embedding model: locate, download, verify."),
    "route": (
        "routing:route",
        "Make the context of a call from a store, and show what is in it and why.",
    ),
    "rpc": ("rpc:rpc", "Answer JSON-RPC 2.0 on standard input and output, one object a line."),
    "serve": (
        "serving:app",
        "Stand between an agent and its provider: keep every turn, and send windows.",
    ),
    "unwrap": (
        "wrapping:unwrap",
        "Undo what warmset wrap changed in an agent's settings; every other byte of them stays.",
    ),
    "verify": ("upkeep:verify", "Read and check every byte of a store; nothing is changed."),
    "wrap": (
        "wrapping:wrap",
        "Run an agent with a memory: hooks, an MCP server, and the proxy before its provider.",
    ),
}
"""Each command with its module, which is imported when it is called, and its line in the help."""


_OTHER_JSON: Final = ("bench", "eval", "rpc")
"""Commands whose ``--json`` names a file, or whose output is JSON in any case."""


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
        With ``--json``, an error is a JSON object on standard output, too.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test's capture may be something else
            stream.reconfigure(errors="replace")
    if os.environ.get("COLUMNS", "1").strip("0") == "":  # nobody knows; in no columns fits nothing
        del os.environ["COLUMNS"]
    try:
        code = application(tokens)(
            tokens, exit_on_error=False, print_error=False, result_action="return_value"
        )
        if sys.stdout is not None:  # it may be closed already
            sys.stdout.flush()
    except (cyclopts.CycloptsError, ImportError, KeyboardInterrupt, OSError, WarmsetError) as error:
        return _ended(error, as_json=_asks_for_json(tokens))
    return code if isinstance(code, int) else 0


def _asks_for_json(tokens: Sequence[str]) -> bool:
    return "--json" in tokens and tokens[0] not in _OTHER_JSON


def _ended(error: BaseException, *, as_json: bool) -> int:
    """Print what ended a command, and return its exit code."""
    cause = error.__cause__ if isinstance(error, ImportError) else None
    if isinstance(cause, MissingExtraError):  # while the command was imported
        error = cause
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    found = _said(error)
    if found is None:
        raise error
    line, code = found
    if line and as_json:
        print(json.dumps({"error": {"type": type(error).__name__, "message": line}, "code": code}))
    if line:
        Console(stderr=True, soft_wrap=True).print(Text(f"error: {line}", style="red"))
    return code


def _said(error: BaseException) -> tuple[str, int] | None:
    """Return what to say of an error, in one line, and the exit code; None if it is a defect."""
    if isinstance(error, MissingExtraError):
        return _line(error), NOT_INSTALLED
    if isinstance(error, WarmsetError):
        return _line(error), FAILED
    if isinstance(error, cyclopts.UnknownCommandError):
        return _unknown(error), MISUSED
    if isinstance(error, cyclopts.CycloptsError):
        return f"{_line(error).rstrip('.')}; see warmset --help", MISUSED
    return _unwritten(error) if isinstance(error, OSError) else None


def _unknown(error: cyclopts.UnknownCommandError) -> str:
    """Name the commands that there are, the nearest one first."""
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    given = (error.unused_tokens or [""])[0]
    names = [name for name in error.command_chain or () if name]
    app = application(names)
    for name in names:
        app = app[name]
    there = sorted(name for name in app if not name.startswith("-"))
    near = get_close_matches(given, there, 1)
    meant = f", did you mean {near[0]!r}?" if near else "."
    whole = " ".join(["warmset", *names])
    return f"{whole} has no command {given!r}{meant} Commands: {', '.join(there)}"


def _unwritten(error: OSError) -> tuple[str, int]:
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}", FAILED
    # Avoid an error message at exit about unwritten output.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # the reader closed the pipe
        return "", FAILED
    return f"the output cannot be written: {error.strerror or error}", FAILED


def _line(error: object) -> str:
    return " ".join(str(error).split())
