"""LangChain's messages as those of a provider's dialect, and back.

A message that a window shows as it is goes out as the very object that came in, so nothing of it is
lost on the way. Only what a window changes or adds is made from its dict.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from warmset._extras import extra
from warmset.adapters._windows import is_thinking, places
from warmset.adapters.langchain import standard_blocks
from warmset.adapters.langchain.standard_blocks import as_claude_has_it
from warmset.errors import InvalidMessageError

with extra("langchain"):
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        FunctionMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset.messages import Message

Spoken: TypeAlias = Literal["openai", "anthropic"]
"""The dialects that LangChain's messages are read as."""

_TEXTS: Final = ("text", "input_text", "output_text")
_NAMED: Final = ("file", "audio", "video", "input_audio", "media", "text-plain")
"""Blocks in whose place a dict names what they are; a message that is shown has them."""
_UNSAID: Final = (
    "reasoning",
    "tool_call",
    "invalid_tool_call",
    "server_tool_call",
    "server_tool_result",
    "non_standard",
)
"""Blocks that are LangChain's own, or another provider's."""


def dicts(messages: Iterable[BaseMessage], dialect: Spoken) -> list[Message]:
    """Return messages as a provider's dialect has them, one for one.

    Args:
        messages: LangChain's messages.
        dialect: The dialect.

    Raises:
        InvalidMessageError: One is of a class that no provider has a role for.
    """
    make = _openai if dialect == "openai" else _anthropic
    return [make(message, place) for place, message in enumerate(messages)]


def _openai(message: BaseMessage, place: int) -> Message:
    content = _content(message.content, "openai")
    if isinstance(message, HumanMessage):
        made: Message = {"role": "user", "content": content}
        return {**made, "name": message.name} if message.name else made
    if isinstance(message, AIMessage):
        made = {"role": "assistant", "content": content}
        calls = [
            _call(call["id"], call["name"], json.dumps(call["args"], ensure_ascii=False))
            for call in message.tool_calls
        ]
        calls += [
            _call(call["id"], call["name"] or "", call["args"] or "")
            for call in message.invalid_tool_calls
            if call["id"]  # nobody could answer another one
        ]
        return {**made, "tool_calls": calls} if calls else made
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": content}
    return _other(message, content, place)


def _anthropic(message: BaseMessage, place: int) -> Message:
    given: Any = message.content
    if isinstance(given, list) and standard_blocks.is_of_claude(message.response_metadata):
        found = (as_claude_has_it(one) if isinstance(one, dict) else one for one in given)
        given = [one for one in found if one is not None]
    content = _content(given, "anthropic")
    if isinstance(message, HumanMessage):
        return {"role": "user", "content": content}
    if isinstance(message, ToolMessage):
        result = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}
        if message.status == "error":
            result["is_error"] = True
        return {"role": "user", "content": [result]}
    if isinstance(message, AIMessage):
        if not message.tool_calls:
            return {"role": "assistant", "content": content}
        blocks = content if isinstance(content, list) else _as_blocks(content)
        there = {block.get("id") for block in blocks if block["type"] == "tool_use"}
        uses = [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
            for call in message.tool_calls
            if call["id"] not in there
        ]
        return {"role": "assistant", "content": [*blocks, *uses]}
    return _other(message, content, place)


def _other(message: BaseMessage, content: Any, place: int) -> Message:
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": content}
    if isinstance(message, ChatMessage):
        return {"role": message.role, "content": content}
    if isinstance(message, FunctionMessage):
        return {"role": "function", "name": message.name, "content": content}
    raise InvalidMessageError(place, f"a {type(message).__name__} has no place in a request")


def _call(id_: str | None, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function}


def _as_blocks(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text else []


def _content(content: Any, dialect: Spoken) -> Any:
    """Return a message's content with the blocks that the dialect has."""
    if isinstance(content, str):
        return content
    made = []
    for given in content:
        block = {"type": "text", "text": given} if isinstance(given, str) else given
        kind = block.get("type")
        if kind in _TEXTS:
            made.append({"type": "text", "text": block.get("text", "")})
        elif kind in ("image", "image_url"):
            made.append(_image(block, dialect))
        elif kind in _NAMED:
            made.append({"type": "text", "text": f"[{kind}]"})
        elif dialect == "anthropic" and kind not in _UNSAID:
            made.append(block)
    if not made:
        return ""
    return made


def _image(block: dict[str, Any], dialect: Spoken) -> dict[str, Any]:
    """Return an image in the dialect's shape; one that is in neither shape is named."""
    held = block.get("image_url", block.get("url"))
    url = held.get("url") if isinstance(held, dict) else held
    source = block.get("source")
    data, kind = block.get("base64") or block.get("data"), block.get("mime_type", "image/png")
    if isinstance(source, dict):
        url, data = source.get("url"), source.get("data")
        kind = source.get("media_type", kind)
    if data and not url:
        url = f"data:{kind};base64,{data}"
    if not isinstance(url, str):
        return {"type": "text", "text": "[image]"}
    if dialect == "openai":
        return {"type": "image_url", "image_url": {"url": url}}
    if url.startswith("data:") and ";base64," in url:
        kind, data = url[5:].split(";base64,", 1)
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def restored(
    window: Sequence[Message], given: Sequence[BaseMessage], sent: Sequence[Message]
) -> list[BaseMessage]:
    """Return the messages of a window as LangChain's.

    Args:
        window: The window's messages.
        given: The messages that the window was made of.
        sent: The same as dicts, one for one.

    Returns:
        The objects in `given` where the window shows them as they are; copies of those of which it
        leaves the thinking out; new messages for what it adds.
    """
    made: list[BaseMessage] = []
    for message, place in zip(window, places(window, sent), strict=True):
        if place is None:
            made += made_of(message)
        elif message == sent[place]:
            made.append(given[place])
        else:
            made.append(_bare(given[place]))
    return made


def _bare(message: BaseMessage) -> BaseMessage:
    """Return a copy of a message without its thinking."""
    kept = [
        block
        for block in message.content
        if not (is_thinking(block) or standard_blocks.is_thinking(block))
    ]
    return message.model_copy(update={"content": kept})


def made_of(message: Message) -> list[BaseMessage]:
    """Return a dict as messages of LangChain's: one, or several for results of several calls."""
    role, content = message["role"], message.get("content") or ""
    if role == "tool":
        return [ToolMessage(content, tool_call_id=message["tool_call_id"])]
    if role == "assistant":
        return [AIMessage(content, tool_calls=_calls(message))]
    if role in ("system", "developer"):
        return [SystemMessage(content)]
    if isinstance(content, str):
        return [HumanMessage(content)]
    results: list[BaseMessage] = [
        ToolMessage(
            block.get("content") or "",
            tool_call_id=block["tool_use_id"],
            status="error" if block.get("is_error") else "success",
        )
        for block in content
        if block.get("type") == "tool_result"
    ]
    rest = [block for block in content if block.get("type") != "tool_result"]
    return [*results, HumanMessage(cast("Any", rest))] if rest else results


def _calls(message: Message) -> list[Any]:
    """Return the tool calls of an assistant's message, in either dialect."""
    found = [
        {"id": call["id"], "name": call["function"]["name"], "args": _arguments(call)}
        for call in message.get("tool_calls") or ()
    ]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    found += [
        {"id": block["id"], "name": block["name"], "args": block["input"]}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    return [{**call, "type": "tool_call"} for call in found]


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(call["function"]["arguments"])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
