"""Anthropic Messages: roles, and blocks for text, calls and results.

The system prompt stands beside the list; newer models also take a system message in it.
"""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.model import Facts, Fault, Message
from warmset.messages.text import joined, kind_of, placeholder, role_fault
from warmset.messages.units import BEHIND

ROLES = ("user", "assistant", "system")
_OWN_BLOCKS = frozenset(
    {"image", "document", "search_result", "container_upload", "compaction"}
    | {"thinking", "redacted_thinking"}
)
_USE, _RESULT = "tool_use", "tool_result"
_FOREIGN_KEYS = ("tool_calls", "tool_call_id", "function_call")
_UNSPOKEN = frozenset({"thinking", "redacted_thinking"})


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`.

    Steps of Interactions have some of its blocks, but no role.
    """
    content = message.get("content")
    if isinstance(content, list) and "role" in message:
        for block in content:
            kind = kind_of(block)
            if kind in _OWN_BLOCKS or kind.endswith((_USE, _RESULT)):
                return f"a block of type {kind!r}"
    return None


def fault(message: Message) -> Fault | None:
    """Say what makes the message malformed; see `Grammar`."""
    role = message.get("role")
    if role == "developer":
        reason = "Anthropic has no role 'developer'; pass it as the system parameter or as 'system'"
        return Fault(reason, "A9")
    why = role_fault(message) or _fault(message)
    return None if why is None else Fault(why)


def _fault(message: Message) -> str | None:
    role = message["role"]
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
    elif kind.endswith(_USE):
        if kind == _USE and role != "assistant":
            why = "calls a tool; only the assistant does that"
        elif not isinstance(block.get("id"), str) or not isinstance(block.get("name"), str):
            why = "needs id and name, the call's and the tool's"
    elif kind.endswith(_RESULT):
        if kind == _RESULT and role != "user":
            why = "answers a tool call; results go into a user message"
        elif not isinstance(block.get("tool_use_id"), str):
            why = "needs tool_use_id, the id of the call that it answers"
        elif kind == _RESULT:
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
    """Read the facts of a well-formed message; see `Grammar`.

    The provider's own tools are part of the text. Where such a call is answered only in a later
    message, both messages name it after their own calls and results, so that they stay together.
    """
    role: str = message["role"]
    content = message["content"]
    if role == "system":
        said = [content] if isinstance(content, str) else list(map(say_block, content))
        return Facts(role, joined(said), bond=BEHIND)
    if isinstance(content, str):
        return Facts(role, joined([content]), request=role == "user")
    pieces: list[str] = []
    calls = tuple(block["id"] for block in content if block["type"] == _USE)
    results = tuple(block["tool_use_id"] for block in content if block["type"] == _RESULT)
    images = sum(_say(block, pieces) for block in content)
    asks = role == "user" and len(results) < len(content)
    keep = any(block["type"] == "compaction" for block in content)
    pending, late = server_ends(content)
    leading = next((b["type"] for b in content if b["type"] != "compaction"), "")
    return Facts(
        role,
        joined(pieces),
        calls + pending,
        results + late,
        images=images,
        request=asks,
        keep=keep,
        thinks=role == "assistant" and leading in _UNSPOKEN,
    )


def server_ends(blocks: list[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the provider's own tool blocks that have no partner in their message.

    Args:
        blocks: The blocks of a well-formed message.

    Returns:
        The ids of calls without a result behind them, and of results without a call before them.
    """
    pending: dict[str, None] = {}
    late: list[str] = []
    for block in blocks:
        if is_server_use(block):
            pending[block["id"]] = None
        elif is_server_result(block):
            if block["tool_use_id"] in pending:
                del pending[block["tool_use_id"]]
            else:
                late.append(block["tool_use_id"])
    return tuple(pending), tuple(late)


def is_server_use(block: Message) -> bool:
    """Tell whether the block calls a tool that the provider runs."""
    kind: str = block["type"]
    return kind.endswith(_USE) and kind != _USE


def is_server_result(block: Message) -> bool:
    """Tell whether the block is the result of a tool that the provider runs."""
    kind: str = block["type"]
    return kind.endswith(_RESULT) and kind != _RESULT


def say_block(block: Message) -> str:
    """Return what one block says, as it stands in the text of its message."""
    pieces: list[str] = []
    _say(block, pieces)
    return joined(pieces)


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


def say(role: str, text: str) -> Message:
    """Make a message that says one text; see `Grammar`."""
    return {"role": role, "content": text}
