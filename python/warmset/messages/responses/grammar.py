"""OpenAI Responses: a flat list of items; messages, reasoning, calls and outputs each are one."""

from __future__ import annotations

from typing import Any

from warmset.messages.interactions.grammar import is_step_call
from warmset.messages.model import Facts, Fault, Message
from warmset.messages.responses import said
from warmset.messages.responses.kinds import (
    BESIDE,
    CALLS,
    COMPACTION,
    KNOWN,
    MESSAGE,
    OUTPUTS,
    REASONING,
    REFERENCE,
    ROLES,
    TRIGGER,
    Pair,
    call_of,
    item_id,
    item_kind,
    may_call,
    output_field,
    output_of,
    stands_alone,
)
from warmset.messages.text import joined, kind_of, role_fault
from warmset.messages.units import REASONING as THINKS, REFERENCE as MAY_CALL

_OWN_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_PARTS = _OWN_PARTS | {"refusal", "input_audio"}
_FOREIGN_PARTS = {
    "text": "Chat or of Anthropic",
    "image_url": "Chat",
    "tool_use": "Anthropic",
    "tool_result": "Anthropic",
}
_FOREIGN_KEYS = ("tool_calls", "tool_call_id", "function_call")
_INPUTS = {"function_call": "arguments", "mcp_approval_request": "arguments"}


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`.

    A reply of Anthropic's is of type "message" too; its parts and its model tell it apart.
    """
    kind = kind_of(message)
    if kind in CALLS and is_step_call(message):
        return None
    if "role" not in message or kind in BESIDE:
        bare = not kind and isinstance(message.get("id"), str) and set(message) <= {"id", "type"}
        return f"an item of type {kind or REFERENCE!r}" if kind in KNOWN or bare else None
    content = message.get("content")
    parts = [kind_of(part) for part in content] if isinstance(content, list) else []
    for part in parts:
        if part in _OWN_PARTS:
            return f"a part of type {part!r}"
    if kind == MESSAGE and content is not None and "model" not in message:
        return "an item of type 'message'" if all(part in _PARTS for part in parts) else None
    return None


def fault(message: Message) -> Fault | None:
    """Say what makes the item malformed; see `Grammar`."""
    why = _fault(message)
    return None if why is None else Fault(why)


def _fault(item: Message) -> str | None:
    if item.get("type") is not None and not kind_of(item):
        return f"the type is a {type(item['type']).__name__}; it must be a string"
    kind = item_kind(item)
    if kind == MESSAGE:
        return role_fault(item) or _message_fault(item)
    why: str | None = None
    if kind == REFERENCE and not isinstance(item.get("id"), str):
        why = "a reference needs id, the item's"
    elif kind in CALLS and not stands_alone(item):
        why = _call_fault(item, CALLS[kind])
    elif kind in OUTPUTS and not stands_alone(item):
        why = _output_fault(item, OUTPUTS[kind])
    return why


def _message_fault(item: Message) -> str | None:
    role = item["role"]
    for key in _FOREIGN_KEYS:
        if item.get(key) is not None:
            return f"{key} is Chat's, in a list that reads as responses; convert() it first"
    if role not in ROLES:
        return f"the role {role!r} is unknown; use one of {', '.join(ROLES)}, or items with a type"
    content = item.get("content")
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        found = "missing" if content is None else f"a {type(content).__name__}"
        return f"content is {found}; it must be a string or a list of parts"
    return _parts_fault(content, "content")


def _parts_fault(parts: list[Any], where: str) -> str | None:
    for place, part in enumerate(parts):
        kind = kind_of(part)
        if not kind:
            return f"{where}[{place}] must be a part with a type, as {{'type': 'input_text', …}}"
        if kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
            return f"{where}[{place}] needs text, a string"
        if kind in _FOREIGN_PARTS:
            return (
                f"{where}[{place}] is a {kind!r} part of {_FOREIGN_PARTS[kind]} in a list that "
                "reads as responses; name the dialect, or convert() it"
            )
    return None


def _call_fault(item: Message, pair: Pair) -> str | None:
    if not isinstance(item.get(pair.call_id), str):
        return f"a {pair.call} needs {pair.call_id}, the id that its output names"
    if pair.call in (*_INPUTS, "custom_tool_call"):
        key = _INPUTS.get(pair.call, "input")
        if not isinstance(item.get("name"), str):
            return f"a {pair.call} needs name, the tool's"
        if not isinstance(item.get(key), str):
            return f"a {pair.call} needs {key}, a string"
    return None


def _output_fault(item: Message, pair: Pair) -> str | None:
    key = output_field(item, pair)
    if not isinstance(item.get(key), str):
        return f"a {pair.output} needs {pair.output_id}, the id of the call that it answers"
    if pair.call not in ("function_call", "custom_tool_call"):
        return None
    output = item.get("output")
    if isinstance(output, list):
        return _parts_fault(output, "output")
    return None if isinstance(output, str) else f"a {pair.output} needs output, text or parts"


def facts(message: Message) -> Facts:
    """Read the facts of a well-formed item; see `Grammar`."""
    kind = item_kind(message)
    text = joined(said.pieces(message))
    images = said.images(message)
    if kind == MESSAGE:
        role = message["role"]
        asks = role == "user"
        if role == "assistant":
            return Facts(role, text, images=images, bond=1, item_id=_own(message))
        return Facts(role, text, images=images, request=asks)
    if kind in OUTPUTS:
        answered = output_of(message)
        results = () if answered is None else (answered[1],)
        return Facts("tool", text, results=results, images=images)
    if kind in BESIDE or kind == TRIGGER:
        return Facts(BESIDE.get(kind, "user"), text, keep=kind == TRIGGER)
    if kind == COMPACTION:
        return Facts("assistant", text, keep=True)
    called = call_of(message)
    calls = () if called is None else (called[1],)
    own, bond = _own(message), _bond(kind)
    if kind == REFERENCE:
        own, bond = "", MAY_CALL if may_call(message) else bond
    return Facts("assistant", text, calls, images=images, bond=bond, item_id=own)


def _bond(kind: str) -> int:
    """Reasoning, calls, the provider's items and references hold fast; the unknown goes along."""
    if kind == REASONING:
        return THINKS
    return 2 if kind in KNOWN else 1


def _own(item: Message) -> str:
    """Return the id that the provider gave an item, without its prefix."""
    own = item_id(item)
    return "" if own is None else own.partition("_")[2] or own


def say(role: str, text: str) -> Message:
    """Make a message that says one text; see `Grammar`."""
    return {"role": role, "content": text}
