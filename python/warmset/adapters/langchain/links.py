"""Reads which tool calls a message makes, and which it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from warmset.adapters.langchain.shapes import fields

if TYPE_CHECKING:
    from collections.abc import Sequence

Links: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Ids of the calls that a message makes, and of those that it answers."""


def telling(messages: Sequence[Any], low: int, high: int) -> list[int]:
    """Find quickly the messages that may contain more than a text.

    Args:
        messages: Dicts, or langchain's messages.
        low: Where to begin.
        high: Where to stop.

    Returns:
        The positions, ascending, of all that have to be read in full.
    """
    if low < high and isinstance(messages[low], dict):
        speakers = ("user", "assistant", "system", "developer")
        return [
            index
            for index, message in enumerate(messages[low:high], low)
            if len(message) != 2  # noqa: PLR2004 - a role and what is said
            or type(message.get("content")) is not str
            or message.get("role") not in speakers
        ]
    return [
        index
        for index, message in enumerate(messages[low:high], low)
        if type((held := message.__dict__).get("content")) is not str
        or held.get("tool_calls")
        or held.get("invalid_tool_calls")
        or held.get("additional_kwargs")
        or held.get("type") not in ("human", "ai", "system")
    ]


def links(message: Any) -> Links:
    """Read the ids of a message's calls and results.

    Args:
        message: A dict or one of langchain's messages.

    Returns:
        The ids, both empty if it has neither calls nor results.
    """
    held = fields(message)
    content = held.get("content")
    answered = held.get("tool_call_id")
    if answered is not None and type(content) is str:
        return (), (str(answered),)
    calls = _ids(held.get("tool_calls"))
    results = [] if answered is None else [str(answered)]
    calls += _ids(held.get("invalid_tool_calls"))
    if isinstance(content, (list, tuple)):
        # langchain says a call of Anthropic's twice: as a block and among the calls
        known = set(calls)
        calls += [each for each in _blocks(content, "tool_use", "id") if each not in known]
        results += _blocks(content, "tool_result", "tool_use_id")
    legacy = held.get("function_call")
    if legacy is None and (more := held.get("additional_kwargs")):
        legacy = more.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name") is not None:
        calls.append(f"function_call:{legacy['name']}")
    if held.get("role", held.get("type")) in ("function", "FunctionMessageChunk"):
        results.append(f"function_call:{held.get('name')}")
    return tuple(calls), tuple(results)


def _ids(listed: object) -> list[str]:
    if not isinstance(listed, list):
        return []
    return [
        str(call["id"]) for call in listed if isinstance(call, dict) and call.get("id") is not None
    ]


def _blocks(content: Sequence[Any], kind: str, key: str) -> list[str]:
    return [
        str(block[key])
        for block in content
        if isinstance(block, dict) and block.get("type") == kind and block.get(key) is not None
    ]
