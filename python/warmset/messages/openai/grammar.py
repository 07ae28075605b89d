"""OpenAI Chat Completions: roles with content, tool calls beside it, results as own messages."""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.model import Facts, Fault, Message, Use
from warmset.messages.text import joined, kind_of, placeholder, role_fault

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_OWN_ROLES = ("tool", "function")
_OWN_KEYS = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", "name")
_OWN_PARTS = frozenset({"image_url", "input_audio", "file"})
_FOREIGN_PARTS = {
    "tool_use": "block of Anthropic's",
    "tool_result": "block of Anthropic's",
    "input_text": "part of Responses",
    "output_text": "part of Responses",
    "input_image": "part of Responses",
    "input_file": "part of Responses",
}
_UNSPOKEN = frozenset({"thinking", "redacted_thinking", "reasoning"})


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`.

    The roles system and developer and the refusal part are those of Responses as well, Gemini's
    contents have parts, and what has no role is no message of this dialect.
    """
    role = message.get("role")
    if not isinstance(role, str) or message.get("type") == "message" or "parts" in message:
        return None
    if role in _OWN_ROLES:
        return f"the role {role!r}"
    for key in _OWN_KEYS:
        if key in message:
            return f"the field {key!r}"
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            if (kind := kind_of(part)) in _OWN_PARTS:
                return f"a part of type {kind!r}"
    elif content is None and role == "assistant":
        return "an assistant message without content"
    return None


def fault(message: Message) -> Fault | None:
    """Say what makes the message malformed; see `Grammar`."""
    why = role_fault(message) or _fault(message)
    return None if why is None else Fault(why)


def _fault(message: Message) -> str | None:
    role = message.get("role")
    if role not in ROLES:
        return f"the role {role!r} is unknown; use one of {', '.join(ROLES)}"
    why = _content_fault(message, role)
    if why is None and message.get("tool_calls") is not None:
        why = _calls_fault(message["tool_calls"], role)
    if why is None and message.get("function_call") is not None:
        why = _legacy_fault(message["function_call"], role)
    if why is None and role == "tool" and not isinstance(message.get("tool_call_id"), str):
        why = "a tool message needs tool_call_id, the id of the call that it answers"
    if why is None and role == "function" and not isinstance(message.get("name"), str):
        why = "a function message needs name, the function that it answers for"
    return why


def _content_fault(message: Message, role: str) -> str | None:
    content = message.get("content")
    if isinstance(content, str):
        return None
    if content is None and role in ("assistant", "function"):
        return None
    if content is None:
        return f"a {role} message needs content, a string or a list of parts"
    if not isinstance(content, list):
        found = type(content).__name__
        return f"content is a {found}; it must be a string or a list of parts"
    for place, part in enumerate(content):
        why = _part_fault(part)
        if why is not None:
            return f"content[{place}] {why}"
    return None


def _part_fault(part: Any) -> str | None:
    kind = kind_of(part)
    if not kind:
        return "must be a part with a type, as {'type': 'text', 'text': …}"
    if kind == "text" and not isinstance(part.get("text"), str):
        return "needs text, a string"
    if kind in _FOREIGN_PARTS:
        return (
            f"is a {kind!r} {_FOREIGN_PARTS[kind]} in a list that reads as openai; "
            "name the dialect, pass a system prompt beside the list, or convert() it"
        )
    return None


def _calls_fault(calls: Any, role: str) -> str | None:
    if role != "assistant":
        return f"a {role} message cannot have tool_calls; only the assistant calls tools"
    if not isinstance(calls, list):
        return f"tool_calls is a {type(calls).__name__}; it must be a list"
    for place, call in enumerate(calls):
        if not isinstance(call, dict) or not isinstance(call.get("id"), str):
            return f"tool_calls[{place}] must be a mapping with an id"
        if not isinstance(body_of(call).get("name"), str):
            return f"tool_calls[{place}] must name its function, as {{'function': {{'name': …}}}}"
    return None


def _legacy_fault(call: Any, role: str) -> str | None:
    if role != "assistant":
        return f"a {role} message cannot have function_call; only the assistant calls functions"
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return "function_call must name its function, as {'name': …, 'arguments': …}"
    return None


def facts(message: Message) -> Facts:
    """Read the facts of a well-formed message; see `Grammar`."""
    role: str = message["role"]
    content = message.get("content")
    if len(message) == 2 and type(content) is str and role != "function":  # noqa: PLR2004
        return Facts(role, joined([content]), request=role == "user")
    pieces: list[str] = []
    images = 0
    if isinstance(content, str):
        pieces.append(content)
    else:
        for part in content or ():
            images += part["type"] == "image_url"
            pieces.append(_said(part))
    if role == "user":
        return Facts(role, joined(pieces), speaker=_speaker(message), images=images, request=True)
    if isinstance(message.get("refusal"), str):
        pieces.append(message["refusal"])
    calls = calls_of(message)
    pieces += [f"{call.name}({call.arguments})" for call in calls]
    ids = tuple(call.id for call in calls)
    results: tuple[str, ...] = ()
    if role == "tool":
        results = (message["tool_call_id"],)
    elif role == "function":
        results = (legacy_id(message["name"]),)
    return Facts(role, joined(pieces), ids, results, _speaker(message), images)


def calls_of(message: Message) -> list[Use]:
    """Return the calls of a well-formed message: tools, custom tools, and the legacy function."""
    calls: list[Use] = []
    for call in message.get("tool_calls") or ():
        body = body_of(call)
        calls.append(Use(call["id"], body["name"], _told(body.get("arguments", body.get("input")))))
    legacy = message.get("function_call")
    if legacy is not None:
        name: str = legacy["name"]
        calls.append(Use(legacy_id(name), name, _told(legacy.get("arguments"))))
    return calls


def said_of(message: Message) -> str:
    """Return what the content of a well-formed message says."""
    content = message.get("content")
    return content if isinstance(content, str) else joined([_said(part) for part in content or ()])


def body_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool call calls: its function, or its custom tool; empty where it has none."""
    body = call.get(kind_of(call) or "function")
    return body if isinstance(body, dict) else {}


def _said(part: dict[str, Any]) -> str:
    kind: str = part["type"]
    if kind in _UNSPOKEN:
        return ""
    if isinstance(said := part.get("refusal" if kind == "refusal" else "text"), str):
        return said
    return placeholder(kind.removesuffix("_url").removeprefix("input_"), part, part.get(kind))


def _told(arguments: object) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else encode(arguments)


def legacy_id(name: str) -> str:
    """Functions of the first API had no ids: the latest open call of a name is answered."""
    return f"function_call:{name}"


def _speaker(message: Message) -> str | None:
    name = message.get("name")
    return name if isinstance(name, str) and message["role"] not in ("tool", "function") else None


def say(role: str, text: str) -> Message:
    """Make a message that says one text; see `Grammar`."""
    return {"role": role, "content": text}
