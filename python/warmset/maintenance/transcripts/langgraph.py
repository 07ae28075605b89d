"""LangGraph's checkpoints, as its `SqliteSaver` writes them: the messages of every thread.

A checkpoint has the whole list again; a message is known by its id. Checkpoints are read from the
oldest on, so that a message which the graph removed later is there, too. Nothing of LangGraph is
needed, and nothing that a checkpoint names is imported.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.maintenance.transcripts.databases import opened, tables
from warmset.maintenance.transcripts.fields import listed, mapping, moment, text
from warmset.maintenance.transcripts.item import Item
from warmset.maintenance.transcripts.lines import value_of
from warmset.maintenance.transcripts.msgpack import Extension, unpack
from warmset.store.known import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS: Final = frozenset(("thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"))
_MODEL: Final = 5
_OLD_MODEL: Final = 4
_DELTA: Final = 7
"""Numbers of LangGraph's types: a model of Pydantic, one of version 1, a snapshot of a list."""

_ROLES: Final = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
}
_PARTS: Final = frozenset(("text", "image_url", "input_audio", "file"))
"""Types of parts of a content that the Chat API takes."""


def is_langgraph(columns: dict[str, set[str]]) -> bool:
    """Return whether a database has checkpoints."""
    return columns.get("checkpoints", set()) >= _COLUMNS


def langgraph(path: Path, name: str) -> Iterator[Item]:
    """Yield the messages of all threads of a file.

    Args:
        path: The file.
        name: The conversation of threads without a name.
    """
    with opened(path) as connection:
        written = "writes" in tables(connection)
        rows = connection.execute(
            "SELECT thread_id, checkpoint_ns, checkpoint_id, type, checkpoint FROM checkpoints "
            "ORDER BY thread_id, checkpoint_ns, checkpoint_id"
        )
        thread: _Thread | None = None
        for thread_id, space, id_, kind, data in rows:
            if thread is None or thread.whose != (thread_id, space):
                thread = _Thread(thread_id, space, name)
            checkpoint = _value(kind, data)
            if checkpoint is None:
                yield thread.unread(str(id_), data)
                continue
            at = moment(mapping(checkpoint), "ts")
            values = mapping(mapping(checkpoint).get("channel_values"))
            for channel in values.values():
                yield from thread.messages(channel, at, named=False)
            if written:
                for form, value in connection.execute(
                    "SELECT type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? "
                    "AND checkpoint_id = ? ORDER BY task_id, idx",
                    (thread_id, space, id_),
                ):
                    yield from thread.messages(_value(form, value), at, named=True)


class _Thread:
    """One thread, or a subgraph of it, while its checkpoints are read."""

    def __init__(self, thread_id: str, space: str, name: str) -> None:
        self.whose = thread_id, space
        thread = str(thread_id or "") or name
        self._name = f"{thread}/{space}" if space else thread
        self._side_of = thread if space else None
        self._seen: set[bytes | str] = set()

    def messages(self, channel: Any, at: float | None, *, named: bool) -> Iterator[Item]:
        """Yield the messages of a channel that were not there before.

        Args:
            channel: Its value.
            at: The checkpoint's time.
            named: Whether messages without an id are left out, because they get one later.
        """
        if isinstance(channel, Extension) and channel.code == _DELTA:
            channel = unpack(channel.data)
        for one in channel if isinstance(channel, list) else [channel]:
            mark = one.data if isinstance(one, Extension) else None
            if mark in self._seen:
                continue
            kwargs = _kwargs(one)
            if kwargs is None or kwargs.get("type") == "remove":
                continue
            uid = text(kwargs, "id")
            raw = json.dumps(kwargs, default=str, sort_keys=True).encode()
            if mark is not None:
                self._seen.add(mark)
            uid = uid or (None if named else digest(raw))
            if uid is None or uid in self._seen:
                continue
            self._seen.add(uid)
            yield from self._message(kwargs, uid, raw, at)

    def unread(self, id_: str, data: object) -> Item:
        """Return a checkpoint that cannot be read, as it stands."""
        raw = data if isinstance(data, bytes) else str(data).encode("utf-8", "surrogateescape")
        return Item(
            conversation=self._name,
            uids=(f"checkpoint:{id_}",),
            kind="checkpoint",
            raw=raw,
            side_of=self._side_of,
        )

    def _message(
        self, kwargs: dict[str, Any], uid: str, raw: bytes, at: float | None
    ) -> Iterator[Item]:
        message, is_whole = _chat(kwargs)
        shared: dict[str, Any] = {
            "conversation": self._name,
            "raw": raw,
            "at": at,
            "side_of": self._side_of,
        }
        if message is None:
            yield Item(uids=(uid,), kind=str(kwargs.get("type")), **shared)
            return
        meta = {"source": "langgraph"}
        yield Item(uids=(uid,), message=message, dialect="openai", meta=meta, **shared)
        if not is_whole:
            yield Item(uids=(f"{uid}#verbatim",), kind="verbatim", **shared)


def _value(kind: object, data: object) -> Any:
    """Return what a typed value of LangGraph says; None if it cannot be read."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if not isinstance(raw, bytes):
        return None
    if kind == "json":
        return value_of(raw)
    if kind != "msgpack":
        return None
    try:
        return unpack(raw)
    except InvalidInputError:
        return None


def _kwargs(value: Any) -> dict[str, Any] | None:
    """Return the fields of a message; None for what is none."""
    if isinstance(value, Extension) and value.code in (_MODEL, _OLD_MODEL):
        try:
            found = unpack(value.data)
        except InvalidInputError:
            return None
        parts = listed(found)
        kwargs = mapping(parts[2]) if len(parts) > 2 else {}  # noqa: PLR2004 - module, name, fields
    elif isinstance(value, dict) and value.get("type") == "constructor":
        kwargs = dict(mapping(value.get("kwargs")))
        name = str((listed(value.get("id")) or [""])[-1])
        kwargs.setdefault("type", name.removesuffix("Message").lower())
    else:
        return None
    return kwargs if isinstance(kwargs.get("type"), str) and "content" in kwargs else None


def _chat(kwargs: dict[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """Return a message of the Chat API, and whether it says all that the fields say."""
    role = _ROLES.get(kwargs["type"])
    content, is_whole = _content(kwargs["content"])
    calls = [mapping(call) for call in listed(kwargs.get("tool_calls"))]
    if role is None or not (content or calls or role == "tool"):
        return None, True
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant" and calls:
        message["content"] = content or None
        message["tool_calls"] = [
            {
                "id": str(call.get("id")),
                "type": "function",
                "function": {
                    "name": str(call.get("name")),
                    "arguments": json.dumps(call.get("args"), default=str),
                },
            }
            for call in calls
        ]
    if role == "tool":
        message["tool_call_id"] = str(kwargs.get("tool_call_id"))
    elif name := text(kwargs, "name"):
        message["name"] = name
    return message, is_whole and not listed(kwargs.get("invalid_tool_calls"))


def _content(value: Any) -> tuple[str | list[Any], bool]:
    if isinstance(value, str):
        return value, True
    parts = [
        {"type": "text", "text": one} if isinstance(one, str) else one for one in listed(value)
    ]
    kept = [one for one in parts if text(mapping(one), "type") in _PARTS]
    others = {text(mapping(one), "type") for one in parts} - _PARTS
    return kept, not others - {"tool_use"}  # a call stands among the tool calls, too
