"""The adapters over a log, each behind the same few calls: texts under a name."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from warmset.native import Log


@dataclass(frozen=True)
class Driver:
    """Keeps texts under a name.

    Attributes:
        make: Opens the adapter on a log; options are those of its class.
        add: Adds a text.
        read: Returns the texts, in order.
        delete: Deletes all under a name.
    """

    make: Callable[..., Any]
    add: Callable[[Any, str, str], Coroutine[Any, Any, Any]]
    read: Callable[[Any, str], Coroutine[Any, Any, list[str]]]
    delete: Callable[[Any, str], Coroutine[Any, Any, Any]]


def _openai_agents() -> Driver:
    from warmset.adapters.openai_agents import WarmsetSession  # noqa: PLC0415

    class Sessions:
        def __init__(self, log: Log, **options: Any) -> None:
            self.of = lambda name: WarmsetSession(name, log, **options)

    async def read(made: Sessions, name: str) -> list[str]:
        return [item["content"] for item in await made.of(name).get_items()]

    return Driver(
        Sessions,
        lambda made, name, text: made.of(name).add_items([{"role": "user", "content": text}]),
        read,
        lambda made, name: made.of(name).clear_session(),
    )


def _claude_agent_sdk() -> Driver:
    from warmset.adapters.claude_agent_sdk import WarmsetSessionStore  # noqa: PLC0415

    def key(name: str) -> Any:
        return {"project_key": "project", "session_id": name}

    async def read(made: Any, name: str) -> list[str]:
        return [entry["text"] for entry in await made.load(key(name)) or ()]

    return Driver(
        WarmsetSessionStore,
        lambda made, name, text: made.append(key(name), [{"type": "user", "text": text}]),
        read,
        lambda made, name: made.delete(key(name)),
    )


def _langgraph_saver() -> Driver:
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415

    from warmset.adapters.langgraph import WarmsetSaver  # noqa: PLC0415

    def config(name: str) -> Any:
        return {"configurable": {"thread_id": name, "checkpoint_ns": ""}}

    async def add(made: Any, name: str, text: str) -> None:
        version = made.get_next_version(None, None)
        checkpoint = empty_checkpoint()
        checkpoint.update(channel_values={"text": text}, channel_versions={"text": version})
        await made.aput(config(name), checkpoint, {"source": "loop"}, {"text": version})

    async def read(made: Any, name: str) -> list[str]:
        found = [one async for one in made.alist(config(name))]
        return [one.checkpoint["channel_values"]["text"] for one in reversed(found)]

    return Driver(WarmsetSaver, add, read, lambda made, name: made.adelete_thread(name))


def _langgraph_store() -> Driver:
    from warmset.adapters.langgraph import WarmsetStore  # noqa: PLC0415
    from warmset.adapters.langgraph.framework import SearchOp  # noqa: PLC0415

    async def read(made: Any, name: str) -> list[str]:
        [found] = await made.abatch([SearchOp((name,), limit=10_000)])
        return [item.value["text"] for item in reversed(found)]

    async def add(made: Any, name: str, text: str) -> None:
        from warmset.adapters.langgraph.framework import PutOp  # noqa: PLC0415

        key = hashlib.sha256(text.encode()).hexdigest()  # keys are not encrypted
        await made.abatch([PutOp((name,), key, {"text": text})])

    return Driver(
        WarmsetStore, add, read, lambda made, name: asyncio.to_thread(made.clear, (name,))
    )


MAKERS = {
    "openai_agents": (_openai_agents, "agents"),
    "claude_agent_sdk": (_claude_agent_sdk, "claude_agent_sdk"),
    "langgraph_saver": (_langgraph_saver, "langgraph"),
    "langgraph_store": (_langgraph_store, "langgraph"),
}
"""How each driver is made, and the package that it needs."""


def driver(name: str) -> Driver:
    return MAKERS[name][0]()
