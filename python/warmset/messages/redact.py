"""Passes every text of a message through a function, in every dialect.

Everything is a text except what a provider reads as something else: roles, types, ids, names of
tools, base64 data, signatures and encrypted contents. In the arguments and results of tools there
is no such exception but for base64 data; there, the names of fields are texts, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset.messages.names import person
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from warmset.messages.model import Message

Rewrite: TypeAlias = Callable[[str], str]
"""Returns a text as it may be stored."""

REDACTED: Final = "[redacted]"
"""The text of a message of which nothing else is left."""

_FIXED: Final = frozenset(
    {
        "background",
        "button",
        "cache_control",
        "detail",
        "encrypted_content",
        "encrypted_index",
        "environment",
        "execution",
        "format",
        "id",
        "language",
        "media_type",
        "mimeType",
        "mime_type",
        "namespace",
        "outcome",
        "output_format",
        "phase",
        "quality",
        "role",
        "scheduling",
        "server_label",
        "signature",
        "size",
        "status",
        "stop_reason",
        "thoughtSignature",
        "thought_signature",
        "type",
    }
)
"""Fields that a provider reads as fixed words, names or opaque data."""

_FREE: Final = frozenset(
    {"args", "arguments", "input", "output", "parameters", "response", "result"}
)
"""Fields with the arguments or the result of a tool."""

_DATA: Final = frozenset({"env", "environment", "metadata", "vars"})
"""Fields whose values are the caller's own, names included."""

_OF_CALLS: Final = frozenset(
    {"args", "arguments", "call_id", "input", "input_schema", "parameters", "response"}
)
"""Fields that stand beside the name of a tool."""

_MEDIA: Final = ("media_type", "mime_type", "mimeType")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_DATA_URL: Final = re.compile(r"data:[^,;\s]*(?:;[^,;\s]*)*;base64,[A-Za-z0-9+/_=-]*\s*")
_LITERAL: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CONTENT_TYPES: Final = frozenset(
    {
        "audio",
        "document",
        "file",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_text",
        "output_text",
        "search_result",
        "text",
        "video",
    }
)


def redacted(message: Message, rewrite: Rewrite) -> Message:
    """Return a message with every text rewritten.

    A signed thinking block whose text would change is left out, because a provider refuses a
    changed one.

    Args:
        message: The message.
        rewrite: The function that every text is passed through.

    Returns:
        The message; the same object if no text changed.
    """
    made = _envelope(message, rewrite)
    content = made.get("content")
    if made is not message and content == [] and message.get("content"):
        made["content"] = [{"type": "text", "text": REDACTED}]
    return made


def redacted_data(value: Any, rewrite: Rewrite) -> Any:
    """Return a JSON value with every text rewritten, the names of fields included.

    Args:
        value: The value.
        rewrite: The function that every text is passed through.

    Returns:
        The value; the same object if no text changed.
    """
    if isinstance(value, str):
        return value if _is_data_url(value) else rewrite(value)
    if isinstance(value, list):
        return _list(value, lambda one: redacted_data(one, rewrite))
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    changed = False
    for name, one in value.items():
        said = rewrite(name)
        new = one if _is_binary(value, name, one, free=True) else redacted_data(one, rewrite)
        changed = changed or said != name or new is not one
        while said in out:
            said += "_"
        out[said] = new
    return out if changed else value


def _envelope(value: dict[str, Any], rewrite: Rewrite) -> dict[str, Any]:
    """Rewrite the texts of a message or of a part of one."""
    out: dict[str, Any] = {}
    changed = False
    for name, one in value.items():
        out[name] = new = _field(value, name, one, rewrite)
        changed = changed or new is not one
    if changed and isinstance(out.get("logprobs"), list):
        out["logprobs"] = []  # it spells the text
    return out if changed else value


def _field(holder: dict[str, Any], name: str, value: Any, rewrite: Rewrite) -> Any:
    if isinstance(value, str):
        return _text(holder, name, value, rewrite)
    if not isinstance(value, (dict, list)) or name in _FIXED - _DATA:
        return value
    if name in _DATA or (name in _FREE and isinstance(value, dict)):
        return redacted_data(value, rewrite)
    if name in _FREE:
        return _outcome(value, rewrite)
    if isinstance(value, dict):
        return _envelope(value, rewrite)
    return _list(value, lambda one: _element(one, rewrite))


def _text(holder: dict[str, Any], name: str, value: str, rewrite: Rewrite) -> str:
    if name in _FIXED or name.endswith(("_id", "Id")):
        return value
    if _is_binary(holder, name, value) or _is_data_url(value):
        return value
    if name == "arguments":
        return _json(value, rewrite)
    if name == "name":
        return _name(holder, value, rewrite)
    return _same(value, rewrite(value))


def _name(holder: dict[str, Any], value: str, rewrite: Rewrite) -> str:
    """Rewrite the name of a person; the name of a tool stays, because calls refer to it."""
    kind = str(holder.get("type", ""))
    if not _OF_CALLS.isdisjoint(holder) or kind.endswith(("tool_use", "_call", "_output")):
        return value
    if holder.get("role") in ("tool", "function"):
        return value
    made = rewrite(value)
    if made != value and "role" in holder:
        return person(made).strip("_") or "redacted"
    return _same(value, made)


def _element(value: Any, rewrite: Rewrite) -> Any:
    """Rewrite an element of a list; `_LEAVES` for a block that must leave it."""
    if isinstance(value, str):
        return _same(value, rewrite(value))
    if isinstance(value, list):
        return _list(value, lambda one: _element(one, rewrite))
    if not isinstance(value, dict):
        return value
    made = _envelope(value, rewrite)
    if made is not value and value.get("signature"):
        kind = value.get("type")
        if kind == "thinking" or str(kind).startswith("reasoning."):
            return _LEAVES
    return made


def _outcome(value: Any, rewrite: Rewrite) -> Any:
    """Rewrite the result of a tool, which may be a list of content blocks."""
    if isinstance(value, list):
        return _list(value, lambda one: _outcome(one, rewrite))
    if isinstance(value, dict) and kind_of(value) in _CONTENT_TYPES:
        return _envelope(value, rewrite)
    return redacted_data(value, rewrite)


class _Leaves:
    """Stands for an element that is left out of its list."""


_LEAVES: Final = _Leaves()


def _list(value: list[Any], make: Callable[[Any], Any]) -> list[Any]:
    made = [make(one) for one in value]
    if all(new is old for new, old in zip(made, value, strict=True)):
        return value
    return [one for one in made if one is not _LEAVES]


def _json(text: str, rewrite: Rewrite) -> str:
    """Rewrite the strings of a JSON text and leave everything else of it as it is."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return _same(text, rewrite(text))

    def literal(found: re.Match[str]) -> str:
        said = json.loads(found.group(), strict=False)
        made = rewrite(said)
        return found.group() if made == said else json.dumps(made)

    made = _LITERAL.sub(literal, text)
    if made != text and _has_twins(made):  # two names became one
        made = json.dumps(redacted_data(json.loads(text), rewrite), ensure_ascii=False)
    return _same(text, made)


def _has_twins(text: str) -> bool:
    """Return whether an object of a JSON text has a name twice."""
    twins: list[bool] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        twins.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(text, object_pairs_hook=look)
    return any(twins)


def _same(old: str, new: str) -> str:
    """Return the old object if nothing changed, so that its holder stays the same object, too."""
    return old if new == old else new


def _is_data_url(text: str) -> bool:
    return text.startswith("data:") and _DATA_URL.fullmatch(text) is not None


def _is_binary(holder: dict[str, Any], name: str, value: Any, *, free: bool = False) -> bool:
    """Return whether a field holds base64 data."""
    if not isinstance(value, str) or name not in ("data", "result", "file_data", "b64_json"):
        return False
    if name == "result":
        return holder.get("type") == "image_generation_call"
    if holder.get("type") == "text":
        return False
    if free:
        media = next((str(holder[one]) for one in _MEDIA if one in holder), "text/")
        typed = holder.get("type") == "base64" or not media.startswith("text/")
        return typed and _BASE64.fullmatch(value) is not None
    return True
