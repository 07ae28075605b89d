"""``warmset route``: make a payload, make one again, list the records of payloads."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from warmset._support.shown import plain
from warmset.errors import InvalidInputError, NotAStore
from warmset.maintenance import Access, encryption_of
from warmset.memory import Memory
from warmset.messages import Dialect  # noqa: TC001 - read at run time
from warmset.route import Router

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.route import Payload, PayloadRecord

_Flag = Annotated[bool, Parameter(negative="")]
_Json = Annotated[bool, Parameter(name="--json", negative="")]
_FOR_TASK: Final = ("query", "session", "pipeline", "error", "budget", "dialect")
"""What only a new payload is made for."""


def route(
    task: str | None = None,
    /,
    *,
    memory: Path,
    query: str | None = None,
    conversation: str | None = None,
    session: str | None = None,
    pipeline: str | None = None,
    error: str | None = None,
    budget: int | None = None,
    dialect: Dialect | None = None,
    specs: Path | None = None,
    replay: str | None = None,
    records: _Flag = False,
    k: int | None = None,
    messages: _Flag = False,
    record: bool = True,
    tenant: str = "default",
    embedder: str = "lexical",
    key_file: Path | None = None,
    as_json: _Json = False,
) -> None:
    """Make the context of a call from a store, and show what is in it and why.

    With --replay, a payload is made again as it was; with --records, those on record are listed,
    the newest first.

    Args:
        task: The task, which a specification has; with --records, only of this task.
        memory: The store's directory.
        query: What the task is asked.
        conversation: The conversation that the call belongs to; with --records, only of this one.
        session: Its session; the newest if not given.
        pipeline: The run of modules that the call is part of.
        error: A key of the error that is to be diagnosed.
        budget: The most tokens of the call; the specification's if not given.
        dialect: The dialect of the messages: openai, responses, anthropic, gemini or interactions;
            openai if not given.
        specs: A folder of specifications; those that come with the package if not given.
        replay: The name of a payload that is made again; needs no task.
        records: List records of payloads.
        k: The most records to list, 20 if not given.
        messages: Print the messages as JSON in place of the table.
        record: Leave a record of the payload in the store; without it, nothing is written.
        tenant: The tenant of the store.
        embedder: What makes the query's vector: the store's embedder, minilm or static; lexical
            compares words alone.
        key_file: A file with the store's master key, if it has one.
        as_json: Print one JSON object.
    """
    given = {
        "query": query,
        "session": session,
        "pipeline": pipeline,
        "error": error,
        "budget": budget,
        "dialect": dialect,
    }
    _check(task, replay, records=records, k=k, given=given, conversation=conversation)
    if not memory.is_dir():
        raise NotAStore(f"{memory}: there is no store; name the directory of one")
    writes = task is not None and record and not records
    mode: Literal["shared", "read"] = "shared" if writes else "read"
    encryption = encryption_of(Access(path=memory, key_file=key_file), whole=True)
    with Memory.open(
        memory, embedder=embedder, tenant=tenant, mode=mode, encryption=encryption
    ) as held:
        router = Router(held, specs=specs, record=writes)
        if records:
            found = router.payloads(task=task, conversation=conversation, k=20 if k is None else k)
            _list(found, as_json=as_json)
            return
        if replay is not None:
            made = router.replay(replay)
        else:
            asked: dict[str, Any] = {key: one for key, one in given.items() if one is not None}
            made = router.route(str(task), conversation=conversation, **asked)
    _show(made, messages=messages, as_json=as_json)


def _check(
    task: str | None,
    replay: str | None,
    *,
    records: bool,
    k: int | None,
    given: dict[str, Any],
    conversation: str | None,
) -> None:
    """Refuse arguments that do not go together."""
    named = [name for name in _FOR_TASK if given[name] is not None]
    if records or replay is not None:
        what = "--records" if records else "--replay"
        if records and replay is not None:
            raise InvalidInputError("give either --replay or --records")
        if named:
            raise InvalidInputError(f"{what} takes no --{named[0]}; give a task without {what}")
        if not records and (task is not None or conversation is not None):
            raise InvalidInputError("--replay takes no task and no --conversation")
    elif task is None or given["query"] is None:
        raise InvalidInputError("give a task and --query TEXT, or --replay ID, or --records")
    if k is not None and not records:
        raise InvalidInputError("--k is for --records")


def _show(made: Payload, *, messages: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps(made.to_dict(messages=messages), indent=1))
    elif messages:
        print(json.dumps(made.messages, indent=1))
    else:
        _out().print(Text(made.explain()))


def _list(found: Sequence[PayloadRecord], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([plain(one) for one in found], indent=1))
        return
    out = _out()
    for one in found:
        where = "" if one.conversation is None else f", conversation {one.conversation}"
        shown, tokens = len(one.context_payload), one.total_tokens
        line = f"{one.payload_id}  {one.time:%Y-%m-%d %H:%M}  {one.task}: {tokens:,} tokens"
        out.print(Text(f"{line}, {shown:,} items, {len(one.excluded):,} left out{where}"))
    if not found:
        out.print("there are no records of payloads")


def _out() -> Console:
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False, soft_wrap=True)
