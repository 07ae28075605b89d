"""``warmset import``: conversations from files of other programs, and what ``export`` wrote."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from warmset.cli.upkeep import bar
from warmset.maintenance import (
    Source,
    redactor,
)
from warmset.maintenance.transcripts.api import Options, begun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.maintenance import ImportReport

_Flag = Annotated[bool, Parameter(negative="")]
_Json = Annotated[bool, Parameter(name="--json", negative="")]


def import_(
    sources: list[str],
    /,
    *,
    memory: Path,
    source: Source | None = None,
    conversation: str | None = None,
    tenant: str = "default",
    follow: _Flag = False,
    dry_run: _Flag = False,
    redact: str | None = None,
    private_tags: bool = True,
    key_file: Path | None = None,
    as_json: _Json = False,
) -> int:
    """Import conversations from files of agents, chats, and ``warmset export``.

    Where a file comes from is found out by its content: sessions of Claude Code and Codex, exports
    of ChatGPT and Claude, sessions of the OpenAI Agents SDK, checkpoints of LangGraph, lists of
    messages, LoCoMo, exports of warmset. Importing again stores what is new; what was erased from
    the store is not brought back.

    Args:
        sources: Files, and directories with files.
        memory: The store's directory; it is created if it does not exist.
        source: Where the files come from, if their content does not tell.
        conversation: The name of the conversation of messages that name none; the file's name if
            not given.
        tenant: The tenant whose conversations they become; an export of warmset has its own.
        follow: Go on importing what is written to the files, until Ctrl-C.
        dry_run: Store nothing, and show what would be stored.
        redact: A function that every text passes through before it is stored, as module:function.
        private_tags: Leave out text between private tags: `<private>`, `</private>`.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON object.
    """
    options = Options(
        source=source,
        conversation=conversation,
        tenant=tenant,
        key_file=key_file,
        redactor=redactor(redact, private_tags=private_tags),
        dry_run=dry_run,
    )
    with begun(memory, sources, options) as work:
        try:
            if follow:
                work.follow(threading.Event())
            else:
                with bar("keep") as progress:
                    work.run(progress)
        finally:
            report = work.report
            if not as_json:
                for line in _lines(report):
                    print(line, file=sys.stderr)
    if as_json:
        print(json.dumps(report.as_json(), indent=1))
    return int(bool(report.failed))


def _lines(report: ImportReport) -> Iterator[str]:
    """Yield what an import did, a count a line; without those that are 0, but for the first."""
    would = " would be" if report.dry else ""
    if report.records or set(report.files) == {"warmset"}:
        yield f"{report.records:,} records{would} imported"
    if set(report.files) != {"warmset"}:
        where = f" into {report.conversations:,} conversations" if report.conversations else ""
        yield f"{report.messages:,} messages{would} imported{where}"
    left = dict(report.left_out)
    vectors, references = left.pop("vectors", 0), left.pop("references", 0)
    log = left.pop("log", 0)
    for count, what in (
        (report.kept.total(), f"other items{would} stored as they stand"),
        (report.unreadable, f"lines that are not JSON{would} stored as they stand"),
        (report.known, "items were imported before"),
        (report.erased, "items left out: their conversation was erased from the store"),
        (sum(left.values()), "items left out that repeat others"),
        (vectors, "records of vectors left out; they are made anew"),
        (log, "records of the log left out"),
        (references, "references to records that are not in the file left out"),
        (report.redacted, "items stored without all of their text, after redaction"),
        (report.too_long, "lines left out that are longer than 64 MiB"),
        (report.unplaced, "messages follow one that is not in the store; they stand at the end"),
        (report.torn, "files end in the middle of a line, which waits for its rest"),
        (report.skipped, "files of the directory are of no known source"),
    ):
        if count:
            yield f"{count:,} {what}"
    if report.compactions:
        yield (
            f"{report.compactions:,} compactions; {report.rereads:,} files were read again within "
            "24 tool calls of one"
        )
    for path, why in report.failed.items():
        yield f"{path}: {why}"
