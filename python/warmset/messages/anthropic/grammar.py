"""Anthropic Messages: two roles, and blocks for text, calls and results; system stands outside."""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.model import Facts, Message
from warmset.messages.text import joined, kind_of, placeholder

ROLES = ("user", "assistant")
_OWN_BLOCKS = frozenset(
    {
        "image",
        "document",
        "search_result",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "container_upload",
    }
)
_FOREIGN_KEYS = ("tool_calls", "tool_call_id", "function_call")
_UNSPOKEN = frozenset({"thinking", "redacted_thinking"})


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`."""
    content = message.get("content")
    if isinstance(content, list):
        for block in content:
            if (kind := kind_of(block)) in _OWN_BLOCKS:
                return f"a block of type {kind!r}"
    return None


def fault(message: Message) -> str | None:
    """Say what makes the message malformed; see `Grammar`."""
    role = message.get("role")
    if role in ("system", "developer"):
        return f"Anthropic has no role {role!r} in its messages; pass it as the system parameter"
    if role not in ROLES:
        return f"the role {role!r} is unknown; use one of {', '.join(ROLES)}"
    for key in _FOREIGN_KEYS:
        if message.get(key) is not None:
            return f"{key} is OpenAI's, in a list that reads as anthropic; convert() it first"
    return _content_fault(message.get("content"), str(role))


def _content_fault(content: Any, role: str) -> str | None:
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        found = "missing" if content is None else f"a {type(content).__name__}"
        return f"content is {found}; it must be a string or a list of blocks"
    for place, block in enumerate(content):
        why = _block_fault(block, role)
        if why is not None:
            return f"content[{place}] {why}"
    return None


def _block_fault(block: Any, role: str) -> str | None:
    kind = kind_of(block)
    why: str | None = None
    if not kind:
        why = "must be a block with a type, as {'type': 'text', 'text': …}"
    elif kind == "text":
        why = None if isinstance(block.get("text"), str) else "needs text, a string"
    elif kind == "tool_use":
        if role != "assistant":
            why = "calls a tool; only the assistant does that"
        elif not isinstance(block.get("id"), str) or not isinstance(block.get("name"), str):
            why = "needs id and name, the call's and the tool's"
        elif not isinstance(block.get("input"), dict):
            why = "needs input, a mapping of arguments"
    elif kind == "tool_result":
        if role != "user":
            why = "answers a tool call; results go into a user message"
        elif not isinstance(block.get("tool_use_id"), str):
            why = "needs tool_use_id, the id of the call that it answers"
        else:
            why = _result_fault(block.get("content"))
    return why


def _result_fault(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return f"has content of type {type(content).__name__}; send a string or a list of blocks"
    for place, block in enumerate(content):
        if not kind_of(block):
            return f"has no block with a type at content[{place}]"
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            return f"needs text, a string, at content[{place}]"
    return None


def facts(message: Message) -> Facts:
    """Read the facts of a well-formed message; see `Grammar`."""
    role: str = message["role"]
    content = message["content"]
    if isinstance(content, str):
        return Facts(role, joined([content]), request=role == "user")
    pieces: list[str] = []
    calls = tuple(block["id"] for block in content if block["type"] == "tool_use")
    results = tuple(block["tool_use_id"] for block in content if block["type"] == "tool_result")
    images = sum(_say(block, pieces) for block in content)
    asks = role == "user" and len(results) < len(content)
    return Facts(role, joined(pieces), calls, results, None, images, asks)


def _say(block: Any, pieces: list[str]) -> int:
    """Append what the block says; return the number of images in it."""
    kind = kind_of(block)
    if not kind:
        return 0
    content = block.get("content")
    if kind in _UNSPOKEN:
        return 0
    if isinstance(block.get("text"), str):
        pieces.append(block["text"])
    elif kind.endswith("tool_use"):
        pieces.append(f"{block.get('name')}({encode(block.get('input'))})")
    elif kind == "document" and _is_text(block.get("source")):
        pieces.append(block["source"]["data"])
    elif isinstance(content, str):
        pieces.append(content)
    elif isinstance(content, list):
        return sum(_say(inner, pieces) for inner in content)
    elif kind != "tool_result":
        pieces.append(placeholder(kind, block, block.get("source")))
    return int(kind == "image")


def _is_text(source: Any) -> bool:
    return (
        isinstance(source, dict)
        and source.get("type") == "text"
        and isinstance(source.get("data"), str)
    )
