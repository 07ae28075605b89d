"""The application: its commands, and how an error is told."""

from __future__ import annotations

import io
import os
import sys
from importlib import metadata
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import TYPE_CHECKING, Annotated, Final

import cyclopts
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from warmset.cli import compaction, evaluate, model, upkeep
from warmset.cli.entry import INTERRUPTED, NOT_INSTALLED
from warmset.cli.rpc import rpc
from warmset.errors import InvalidInputError, MissingExtraError, WarmsetError
from warmset.lab.demo.run import Options
from warmset.lab.demo.run import run as run_demo
from warmset.lab.demo.run_crossing import BUDGET, LATENCY, PACE, CrossingOptions, run_crossing

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED: Final = 1
MISUSED: Final = 2

app = cyclopts.App(
    name="warmset",
    help="Virtual memory for the context window of a language model.",
    version=lambda: metadata.version("warmset"),
    suppress_keyboard_interrupt=False,  # `run` answers it
)
app.command(model.app)
app.command(evaluate.app)
for one in (
    compaction.compact,
    compaction.history,
    upkeep.doctor,
    upkeep.verify,
    upkeep.erase,
    upkeep.export,
):
    app.command(one)
app.command(upkeep.import_, name="import")
app.command(rpc)


@app.command
def demo(
    *,
    file: Path | None = None,
    query: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    budget: int | None = None,
    conversation: str | None = None,
    limit: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    store: Path | None = None,
    words_only: Annotated[bool, Parameter(negative="")] = False,
    embedder: str | None = None,
    picker: str | None = None,
    compact: Annotated[bool, Parameter(negative="")] = False,
    latency: float | None = None,
    pace: float | None = None,
) -> None:
    """Show what a window holds, on a long conversation and at equal tokens.

    Without a file, a conversation that ships with warmset is asked ten questions whose answers lie
    far back, and five ways to choose a window are compared.

    Args:
        file: Your own transcript: OpenAI or Anthropic messages as JSON or JSONL, a Claude Code
            transcript, or a LoCoMo file.
        query: Requests to make windows for; of a transcript without known answers, the last user
            message if not given.
        budget: Tokens that a window may have; 5 % of the conversation if not given, and 12,000 with
            --compact.
        conversation: The sample_id of a LoCoMo conversation; the first if not given.
        limit: How many of the known questions to ask.
        as_json: Print the figures as one JSON object.
        store: A directory to keep the conversation in; a temporary one if not given.
        words_only: Search by words alone, without the model.
        embedder: What makes vectors: minilm, static, openai, cohere or voyage, a service with a
            model after a colon.
        picker: Who picks in the windows that are taken apart: openai:model, openai-responses:model
            or anthropic:model, with the key in the environment; the score if not given.
        compact: Show an agent's run that outgrows its window instead: a summary that a call waits
            for beside one that was prepared. It searches by words alone.
        latency: Milliseconds that the simulated summariser takes, for --compact; 8000 if not given.
        pace: Milliseconds from one call of the agent's model to the next, simulated, for --compact;
            2000 if not given.
    """
    if compact:
        others = {"query": query, "limit": limit, "store": store, "picker": picker}
        for name, value in {**others, "words_only": words_only or None}.items():
            if value is not None:
                raise InvalidInputError(f"{name}: means nothing with --compact; leave it out")
        run_crossing(
            CrossingOptions(
                file=file,
                conversation=conversation,
                budget=BUDGET if budget is None else budget,
                latency=LATENCY if latency is None else latency,
                pace=PACE if pace is None else pace,
                as_json=as_json,
            )
        )
        return
    if latency is not None or pace is not None:
        raise InvalidInputError("latency, pace: are of --compact; give it as well")
    run_demo(
        Options(
            file=file,
            queries=query or (),
            budget=budget,
            conversation=conversation,
            limit=limit,
            as_json=as_json,
            store=store,
            words_only=words_only,
            embedder=embedder,
            picker=picker,
        )
    )


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
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:  # it may have been closed before
            sys.stdout.flush()
    except MissingExtraError as error:
        return _failed(error, NOT_INSTALLED)
    except WarmsetError as error:
        return _failed(error, FAILED)
    except cyclopts.CycloptsError as error:
        return _failed(f"{str(error).rstrip('.')}; see warmset --help", MISUSED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _unwritten(error)
    return code if isinstance(code, int) else 0


def _unwritten(error: OSError) -> int:
    if error.filename is not None:
        return _failed(f"{error.filename}: {error.strerror}", FAILED)
    # What is left in the buffer must not complain at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):  # whoever read has gone
        return FAILED
    return _failed(f"the output cannot be written: {error.strerror or error}", FAILED)


def _failed(error: object, code: int) -> int:
    line = " ".join(str(error).split())
    Console(stderr=True, soft_wrap=True).print(Text(f"error: {line}", style="red"))
    return code
