"""``warmset compact | history``: compact a transcript, and list the recorded runs."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from rich.console import Console

from warmset.cli.show_compaction import show_compaction, show_history
from warmset.compact import compact_context
from warmset.errors import InvalidInputError
from warmset.items.archive import episode_of
from warmset.lab.demo.transcripts import read
from warmset.maintenance import Access, open_store
from warmset.maintenance.access import pages
from warmset.memory import Memory
from warmset.store.derived import Derived, Made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warmset.lab.corpus.transcript import Transcript

_STDIN: Final = Path("-")
_Json = Annotated[bool, Parameter(name="--json", negative="")]
_Flag = Annotated[bool, Parameter(negative="")]


def compact(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    query: str | None = None,
    ratio: float = 0.4,
    budget: int | None = None,
    memory: Path | None = None,
    tenant: str = "default",
    conversation: str | None = None,
    distill: _Flag = False,
    words_only: _Flag = False,
    as_json: _Json = False,
) -> None:
    """Drop the turns of a list with the lowest scores, and show which and why.

    Args:
        file: Messages of OpenAI, Anthropic or Gemini as JSON or JSONL, or a Claude Code transcript;
            "-" reads standard input.
        query: The text to which the turns that stay should be similar.
        ratio: The share of the list's tokens that may stay, 0.05 to 1.
        budget: The most tokens that may stay; replaces the ratio.
        memory: A store: its memories count as known, dropped turns are stored in it, and the run is
            recorded.
        tenant: The tenant of the store.
        conversation: The store's conversation that the list belongs to.
        distill: Make memories of dropped turns that nothing else covers.
        words_only: Score by role and recency alone, without the model.
        as_json: Print one JSON object: the messages that stay, the statistics and the dropped
            turns.
    """
    if memory is None and (conversation is not None or distill):
        raise InvalidInputError("--conversation and --distill need --memory PATH, a store")
    found = _read(file)
    plain = [line.message for line in found.lines]
    ask: dict[str, Any] = {"query": query, "target_ratio": ratio, "budget": budget}
    embedder = "lexical" if words_only else "minilm"
    if memory is None:
        made = compact_context(plain, embedder=embedder, **ask)
    else:
        with Memory.open(memory, embedder=embedder, tenant=tenant) as held:
            place = held if conversation is None else held.conversation(conversation)
            made = compact_context(plain, memory=place, distill_novel=distill, **ask)
    if as_json:
        result = {
            "dialect": made.dialect,
            "stats": made.stats.as_dict(),
            "messages": made.messages,
            "dropped": [asdict(drop) for drop in made.dropped],
            "inserted": [asdict(one) for one in made.inserted],
            "episode": made.episode,
            "notes": list(found.notes),
        }
        print(json.dumps(result, indent=1))
    else:
        show_compaction(made, plain, found.notes, _out())


def history(
    path: Path,
    /,
    *,
    tenant: str | None = None,
    conversation: str | None = None,
    key_file: Path | None = None,
    as_json: _Json = False,
) -> None:
    """List the compactions and prepared summaries on record in a store; nothing is changed.

    Args:
        path: The store's directory.
        tenant: Only this tenant's.
        conversation: Only those of this conversation.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON list.
    """
    derived, made = Derived(), list[Made]()
    with open_store(Access(path=path, key_file=key_file), mode="read") as store:
        for record in pages(store, []):
            with suppress(
                ValueError
            ):  # records that warmset did not write are skipped, as everywhere
                if record.kind == "episode" and (one := derived.take(record)) is not None:
                    made.append(one)
    runs = [
        (one.tenant, episode_of(one))
        for one in made
        if tenant in (None, one.tenant) and conversation in (None, one.conversation)
    ]
    if as_json:
        rows = [
            {
                "id": run.id,
                "at": run.at.isoformat(),
                "tenant": whose,
                "conversation": run.conversation,
                "what": run.what,
                **run.figures,
            }
            for whose, run in runs
        ]
        print(json.dumps(rows, indent=1))
    else:
        show_history(runs, _out())


def _read(file: Path) -> Transcript:
    if file != _STDIN:
        return read(file)
    with _spooled() as path:
        return read(path)


@contextmanager
def _spooled() -> Iterator[Path]:
    """Copy standard input to a file, because it is read twice: once to detect its format."""
    with tempfile.TemporaryDirectory(prefix="warmset-") as folder:
        path = Path(folder) / "standard input"
        path.write_bytes(sys.stdin.buffer.read())
        yield path


def _out() -> Console:
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False, soft_wrap=True)
