"""Checks of dicts: what langchain-core refuses to convert is rejected here, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

from warmset.adapters.langchain.shapes import KINDS, fields
from warmset.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def check(message: dict[str, Any], index: int, *, strict: bool) -> None:
    """Check that a dict is a message.

    Args:
        message: The dict.
        index: Its position, for the error.
        strict: Whether to refuse all that langchain-core refuses; providers themselves take an
            assistant message without content, and a call with arguments that are no JSON.

    Raises:
        InvalidMessageError: It is not a message; the error has the reason.
    """
    if type(message.get("content")) is str:
        role, bare = message.get("role"), len(message) == 2  # noqa: PLR2004 - role and content
        if bare and role in ("user", "assistant", "system", "developer"):
            return
        if role == "tool" and "name" not in message and type(message.get("tool_call_id")) is str:
            return
    why = _fault(fields(message), strict=strict)
    if why is not None:
        raise InvalidMessageError(index, why)


def _fault(held: Mapping[str, Any], *, strict: bool) -> str | None:
    role = held["role"] if "role" in held else held.get("type")
    kind = KINDS.get(role) if isinstance(role, str) else None
    if kind is None:
        return f"the role {role!r} is unknown; use one of {', '.join(KINDS)}"
    if "content" not in held and (strict or kind != "ai"):
        return "it has no content; a message dict has role and content"
    if kind == "remove":
        return None if isinstance(held.get("id"), str) else "it needs the id of what it removes"
    why = _name_fault(held, kind) or _content_fault(held.get("content") or "", kind)
    if why is None and strict and held.get("tool_calls") is not None:
        why = _calls_fault(held["tool_calls"], kind)
    return why


def _name_fault(held: Mapping[str, Any], kind: str) -> str | None:
    if kind == "tool" and not isinstance(held.get("tool_call_id"), (str, int, float, UUID)):
        return "a tool message needs tool_call_id, the id of the call that it answers"
    name = held.get("name")
    if name is None and kind == "function":
        return "a function message needs name, the function that it answers for"
    if name is not None and not isinstance(name, str):
        return f"name is a {type(name).__name__}; it must be a string"
    return None


def _content_fault(content: Any, kind: str) -> str | None:
    if kind == "tool" or isinstance(content, str):
        return None
    if not isinstance(content, (list, tuple)):
        found = type(content).__name__
        return f"content is a {found}; it must be a string or a list of parts"
    for place, part in enumerate(content):
        if not isinstance(part, (str, dict)):
            return f"content[{place}] is a {type(part).__name__}; it must be a string or a part"
    return None


def _calls_fault(calls: Any, kind: str) -> str | None:
    if not isinstance(calls, list):
        return f"tool_calls is a {type(calls).__name__}; it must be a list"
    for place, call in enumerate(calls):
        if not isinstance(call, dict):
            return f"tool_calls[{place}] must be a mapping"
        name, args = call.get("name"), call.get("args")
        if "function" in call:
            body = call["function"]
            if not isinstance(body, dict) or not {"name", "arguments"} <= body.keys():
                return f"tool_calls[{place}].function needs name and arguments"
            name, args = body["name"], arguments(body["arguments"])
        if kind == "ai" and (not isinstance(name, str) or not isinstance(args, dict)):
            return f"tool_calls[{place}] needs a name, and arguments that are a JSON object"
        if "id" not in call:
            return f"tool_calls[{place}] needs an id"
    return None


def arguments(written: Any) -> Any:
    """Read a call's arguments; text that is not JSON stays unchanged."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written, strict=False)
    except (ValueError, RecursionError):
        return written
