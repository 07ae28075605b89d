"""``warmset rpc``: tools for other programs, as JSON-RPC on standard input and output."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import metadata
from pathlib import Path  # noqa: TC003 - read at run time, to parse arguments

from warmset.cli.terminated import TERMINATED, Terminated, terminable
from warmset.embed import named
from warmset.errors import InvalidInputError
from warmset.memory import Memory
from warmset.serve import DEEPEST, LONGEST, Server, claimed, methods, serve, tools_of


def rpc(
    *,
    memory: Path | None = None,
    conversation: str | None = None,
    tenant: str = "default",
    embedder: str | None = None,
    longest: int = LONGEST,
    deepest: int = DEEPEST,
) -> int:
    """Answer JSON-RPC 2.0 on standard input and output, one object a line.

    Methods: tools/list, tools/call, initialize, ping. Tools: context_compact and, with a memory,
    those that search it, add to it and remove from it. All other output goes to standard error. It
    ends when standard input ends.

    Args:
        memory: A store's directory: has the known memories, and stores dropped messages.
        conversation: The store's conversation that is compacted.
        tenant: The tenant of the store.
        embedder: The source of vectors: minilm, static, openai, cohere, voyage or lexical; if not
            given, minilm with a memory, and none without.
        longest: The most bytes of a line.
        deepest: The most levels of nesting in a line.
    """
    for name, value in (("longest", longest), ("deepest", deepest)):
        if value < 1:
            raise InvalidInputError(f"{name}: expected at least 1, found {value}")
    if memory is None and conversation is not None:
        raise InvalidInputError("conversation: needs a memory; give --memory as well")
    try:
        with terminable(), claimed() as streams:
            maker = None if embedder in {None, "lexical"} else named(str(embedder))
            opened = (
                nullcontext()
                if memory is None
                else Memory.open(memory, tenant=tenant, embedder=maker or embedder)
            )
            with opened as store:
                tools = tools_of(store, conversation, embedder=maker)
                version = metadata.version("warmset")
                server = Server(methods(tools, version=version), deepest=deepest)
                serve(server, streams.read, streams.write, longest=longest)
    except Terminated:
        return TERMINATED
    return 0
