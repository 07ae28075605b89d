"""The table of tools: which there are, and which stand in front."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

from warmset.serve.tools.compacting import compact_tool, restore_tool
from warmset.serve.tools.desk import Desk
from warmset.serve.tools.keeping import append_tool, import_tool
from warmset.serve.tools.listing import (
    conversations_tool,
    episodes_tool,
    memories_tool,
    status_tool,
    turns_tool,
)
from warmset.serve.tools.remembering import forget_tool, pin_tools, remember_tool, revise_tool
from warmset.serve.tools.searching import fetch_tool, search_tool

if TYPE_CHECKING:
    from warmset.embed import Embedder
    from warmset.memory import Memory
    from warmset.serve.tools.tool import Tool

CORE: Final = (
    "memory_search",
    "memory_fetch",
    "memory_remember",
    "memory_forget",
    "context_compact",
    "context_restore",
    "context_status",
)
"""The tools that a model always sees; the others are behind a gateway where it would see many."""


def table(desk: Desk) -> list[Tool]:
    """Return the tools of a server, those of `CORE` first, in that order.

    Args:
        desk: Where they work. Without a memory there is `context_compact` alone; a read-only one
            has no tools that write. Files are imported only where `Desk.imports` says how.
    """
    if desk.memory is None:
        return [compact_tool(desk)]
    every = [
        search_tool(desk),
        fetch_tool(desk),
        remember_tool(desk),
        forget_tool(desk),
        compact_tool(desk),
        restore_tool(desk),
        status_tool(desk, metadata.version("warmset")),
        conversations_tool(desk),
        turns_tool(desk),
        memories_tool(desk),
        episodes_tool(desk),
        append_tool(desk),
        revise_tool(desk),
        *pin_tools(desk),
        *([] if desk.imports is None else [import_tool(desk, desk.imports)]),
    ]
    return [one for one in every if one.effect == "read" or not desk.read_only]


def tools_of(
    memory: Memory | None = None,
    conversation: str | None = None,
    *,
    embedder: Embedder | None = None,
) -> list[Tool]:
    """Return the tools of a server for one open memory, with results of any size.

    Args:
        memory: Has the known memories, and stores dropped messages; None for no memory.
        conversation: The conversation that is compacted; None if the list is not in the memory.
        embedder: The source of vectors; the memory's own if not given.

    Raises:
        InvalidInputError: The conversation's name is empty, or there is no memory.
    """
    if memory is None:
        return table(Desk(conversation=conversation, embedder=embedder))
    if conversation is not None:
        memory.conversation(conversation)
    return table(Desk(memory=lambda: memory, conversation=conversation, embedder=embedder))
