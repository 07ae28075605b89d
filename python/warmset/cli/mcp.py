"""``warmset mcp``: a memory for agents that speak the Model Context Protocol."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from functools import partial
from importlib import metadata
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from warmset._extras import extra
from warmset.cli.terminated import TERMINATED, Terminated, terminable
from warmset.errors import InvalidInputError, WarmsetError
from warmset.maintenance import Access, encryption_of
from warmset.maintenance.transcripts.api import Options, begun
from warmset.serve import claimed
from warmset.serve.listening import Listening
from warmset.serve.proxy.guard import GuardOptions, check_bind
from warmset.serve.tools import Desk, Imports

with extra("mcp"):
    import anyio

    from warmset.serve.mcp.http import GRACE, MAX_BODY, serve_http
    from warmset.serve.mcp.levels import Levels
    from warmset.serve.mcp.offered import LIMIT, offered
    from warmset.serve.mcp.opening import OpenMemory
    from warmset.serve.mcp.server import build
    from warmset.serve.mcp.stdio import serve_stdio

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.lowlevel import Server

    from warmset.memory import Memory

PORT: Final = 8788

MOST_FAILED: Final = 20
"""The most files of which an import says why they failed."""

_Flag = Annotated[bool, Parameter(negative="")]
_Several = Annotated[tuple[str, ...] | None, Parameter(negative="")]


def mcp(
    *,
    memory: Path,
    http: _Flag = False,
    host: str = "127.0.0.1",
    port: int = PORT,
    name: _Several = None,
    allow_remote: _Flag = False,
    token_file: Path | None = None,
    conversation: str | None = None,
    tenant: str = "default",
    read_only: _Flag = False,
    limit: int = LIMIT,
    import_from: Path | None = None,
    embedder: str | None = None,
    key_file: Path | None = None,
) -> int:
    """Give agents a memory over the Model Context Protocol.

    Without --http the client starts this command and speaks on standard input and output. With it,
    clients connect to the address that is printed, over streamable HTTP. Clients of 2025-11-25 and
    of 2026-07-28 are served alike. Ctrl-C or SIGTERM ends it, with the store closed.

    Args:
        memory: The store's directory; it is created if it does not exist.
        http: Serve over HTTP.
        host: The address to listen at.
        port: The port; 0 for any that is free.
        name: Other names, with the port, by which clients reach the server.
        allow_remote: Listen at an address that others reach; needs a token.
        token_file: A file with the token that requests must have in x-warmset-token.
        conversation: The conversation of compactions that name none.
        tenant: Whose memory is served.
        read_only: Leave out the tools that change the store, and write nothing.
        limit: The most tokens of a result.
        import_from: A directory whose files the import tool may read, those below among them; no
            import tool if not given.
        embedder: The source of vectors: minilm, static, openai, cohere, voyage or lexical; minilm
            if not given.
        key_file: A file with the store's master key, if it has one.
    """
    token = None if token_file is None else token_file.read_text("utf-8").strip()
    if token == "":
        raise InvalidInputError("token_file: it is empty; put a long random text into it")
    if import_from is not None and not import_from.is_dir():
        raise InvalidInputError("import_from: there is no directory of that name; make it first")
    check_bind(host, allow_remote=allow_remote, token=token)
    guard = GuardOptions(token=token, max_body=MAX_BODY)
    guard = GuardOptions(token=token, max_body=MAX_BODY, hosts=(*guard.hosts, *(name or ())))
    access = Access(path=memory, key_file=key_file)
    options: dict[str, Any] = {
        "tenant": tenant,
        "embedder": embedder,
        "mode": "read" if read_only else "shared",
        "encryption": encryption_of(access, whole=True),
    }
    with closing(OpenMemory(memory, options)) as held:
        desk = Desk(
            memory=held.get,
            conversation=conversation,
            read_only=read_only,
            limit=limit,
            imports=None
            if import_from is None
            else Imports(directory=import_from, run=partial(_import, import_from)),
        )
        levels = Levels()
        server = build(offered(desk, levels), version=metadata.version("warmset"), levels=levels)
        try:
            with terminable():
                if not http:
                    return _stdio(server, held.get)
                held.get()
                listening = Listening(host=host, port=port, grace=GRACE)
                serve_http(server, guard, listening, ready=partial(_ready, memory))
        except Terminated:
            return TERMINATED
    return 0


def _stdio(server: Server[Any], opened: Callable[[], object]) -> int:
    with claimed() as streams:
        opening = threading.Thread(target=_warm, args=(opened,), name="warmset-mcp-open")
        opening.daemon = True
        opening.start()
        ended = anyio.run(serve_stdio, server, streams.read, streams.write)
    return TERMINATED if ended else 0


def _warm(opened: Callable[[], object]) -> None:
    """Open the memory before it is asked for; why it cannot be opened, each call says."""
    try:
        opened()
    except WarmsetError as error:
        print(f"warmset: {error}", file=sys.stderr, flush=True)


def _ready(memory: Path, url: str) -> None:
    print(f"warmset: {url} serves {memory}", file=sys.stderr, flush=True)


def _import(
    directory: Path,
    memory: Memory,
    path: Path,
    given: Mapping[str, Any],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Import files for the tool; errors name them by their paths in the directory for imports."""
    root = directory.resolve()
    options = Options(**given, within=root, own_tenant=True)
    try:
        with begun(memory, path, options) as work:
            report = work.run(progress)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace(f"{root}{os.sep}", "")) from error
    failed = [
        f"{name.removeprefix(f'{root}{os.sep}')}: {why}" for name, why in report.failed.items()
    ]
    return {
        "messages": report.messages,
        "conversations": report.conversations,
        "records": report.records,
        "beside": report.kept.total() + report.unreadable,
        "known": report.known,
        "erased": report.erased,
        "left_out": report.left_out.total() + report.too_long,
        "redacted": report.redacted,
        "skipped": report.skipped,
        "failed": failed[:MOST_FAILED],
    }
