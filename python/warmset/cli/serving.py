"""``warmset serve``: the proxy, and the tenants of keys that take the place of others."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments
from typing import Annotated, Any, Final

import cyclopts
from cyclopts import Parameter

from warmset._extras import extra
from warmset.errors import InvalidInputError, NotAStore
from warmset.maintenance import Access, encryption_of
from warmset.options import Mode  # noqa: TC001 - read at run time

with extra("serve"):
    from warmset.serve.listening import Listening
    from warmset.serve.proxy.guard import GuardOptions, check_bind, check_upstream
    from warmset.serve.proxy.options import PATIENCE, ProxyOptions
    from warmset.serve.proxy.server import Serving, run, tenants_of
    from warmset.serve.proxy.upstream import BASES, Upstreams
    from warmset.serve.proxy.workers import run_workers

PORT: Final = 8787

MOST: Final = 256
"""How many workers there may be."""

_Flag = Annotated[bool, Parameter(negative="")]
_Several = Annotated[tuple[str, ...] | None, Parameter(negative="")]
_Json = Annotated[bool, Parameter(name="--json", negative="")]

app = cyclopts.App(
    name="serve",
    help="Stand between an agent and its provider: keep every turn, and send windows.",
)


@app.default
def serve(
    *,
    memory: Path,
    upstream: _Several = None,
    private: _Several = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    name: _Several = None,
    allow_remote: _Flag = False,
    token_file: Path | None = None,
    field: _Several = None,
    mode: Mode = "auto",
    budget: int | None = None,
    patience: float = PATIENCE,
    workers: int = 1,
    show_names: _Flag = False,
    embedder: str | None = None,
    key_file: Path | None = None,
    tenant: str | None = None,
) -> int:
    """Stand between an agent and its provider: keep every turn, and send windows.

    An agent whose base URL is that of the proxy needs no other change. Chat Completions, Responses,
    Messages, and Gemini's generateContent and Interactions get windows; all else passes through.
    Encrypting the connection is the business of a server in front of it. Ctrl-C or SIGTERM ends it,
    when open answers are finished.

    Args:
        memory: The store's directory.
        upstream: Where requests go: a URL, or openai=URL, anthropic=URL, gemini=URL; the providers
            themselves if not given.
        private: Hosts of upstreams that may have private addresses, with the port.
        host: The address to listen at.
        port: The port; 0 for any that is free.
        name: Other names, with the port, by which clients reach the proxy.
        allow_remote: Listen at an address that others reach; needs a token.
        token_file: A file with the token that requests must have in x-warmset-token.
        field: Fields of requests that name the conversation, as metadata.session_id, in the order
            in which they count; where none does, lists are recognised.
        mode: How windows are built: auto, steady, jit, recency or full.
        budget: The most tokens of a call; what the model's context allows if not given.
        patience: Seconds that a window may take before the request goes upstream as it came.
        workers: How many processes answer, all on this store; SIGHUP replaces them one by one.
        show_names: Show the names of conversations on the page; digests of them if not given.
        embedder: The source of vectors: minilm, static, openai, cohere, voyage or lexical; minilm
            if not given.
        key_file: A file with the store's master key, if it has one.
        tenant: Whose memory all requests use, whichever key they have; each key has one of its own
            if not given.
    """
    if tenant == "":
        raise InvalidInputError("tenant: expected a name")
    token = None if token_file is None else _text_of("token_file", token_file)
    if token == "":
        raise InvalidInputError("token_file: it is empty; put a long random text into it")
    if not 1 <= workers <= MOST:
        raise InvalidInputError(f"workers: expected 1 to {MOST}, found {workers}")
    check_bind(host, allow_remote=allow_remote, token=token)
    given = Upstreams.of(upstream or ()).bases
    options = ProxyOptions(
        upstreams=Upstreams(
            {
                whose: url if url == BASES[whose] else check_upstream(url, private=private or ())
                for whose, url in given.items()
            }
        ),
        private=private or (),
        mode=mode,
        budget=budget,
        patience=patience,
        fields=field or (),
        names=show_names,
    )
    store: dict[str, Any] = {
        "embedder": embedder,
        "encryption": encryption_of(Access(path=memory, key_file=key_file), whole=True),
    }
    guard = GuardOptions(token=token)
    if name:
        guard = GuardOptions(token=token, hosts=(*guard.hosts, *name))
    listening = Listening(host=host, port=port)

    def ready(address: str) -> None:
        print(f"warmset: {address} keeps turns in {memory}", file=sys.stderr, flush=True)

    serving = Serving(memory=memory, store=store, options=options, guard=guard, tenant=tenant)
    if workers == 1:
        run(serving, listening, ready=ready)
    else:
        run_workers(serving, listening, workers, ready=ready)
    return 0


@app.command
def alias(
    *,
    memory: Path,
    new_key_file: Path,
    old_key_file: Path | None = None,
    as_json: _Json = False,
) -> int:
    """Let a new key have the memory of an old one.

    Keys are read from files, so that no list of processes shows them.

    Args:
        memory: The store's directory.
        new_key_file: A file with the new key.
        old_key_file: A file with the old key; without one, the new key gets a memory of its own
            again.
        as_json: Print one JSON object.
    """
    if not memory.is_dir():
        raise NotAStore(f"{memory}: there is no store; name the directory of one")
    tenants = tenants_of(memory)
    new = _text_of("new_key_file", new_key_file)
    if old_key_file is None:
        made = tenants.unalias(new)
    else:
        made = tenants.alias(new, _text_of("old_key_file", old_key_file))
    if as_json:
        print(json.dumps({"aliases": [[one.new, one.old] for one in made]}))
        return 0
    for one in made:
        print(f"{one.new} -> {one.old}")
    return 0


def _text_of(name: str, path: Path) -> str:
    """Return what a file says, without the white space around it.

    Raises:
        InvalidInputError: It is no text.
        OSError: It cannot be read.
    """
    try:
        return path.read_text("utf-8").strip()
    except UnicodeDecodeError:
        raise InvalidInputError(f"{name}: {path} is no text in UTF-8") from None
