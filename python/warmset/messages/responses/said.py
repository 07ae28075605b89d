"""What Responses items say, as text, and how many images they show."""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.responses.kinds import (
    BESIDE,
    CALLS,
    COMPACTION,
    MESSAGE,
    OUTPUTS,
    PROVIDED,
    REASONING,
    REFERENCE,
    TRIGGER,
    item_kind,
)
from warmset.messages.text import joined, kind_of, placeholder

_SILENT = frozenset({REASONING, COMPACTION, TRIGGER, REFERENCE, *BESIDE, "mcp_list_tools"})
_ARGUMENTS = ("arguments", "input", "action", "operation", "code", "queries", "actions")
_SCREENSHOT = "computer_screenshot"


def pieces(item: dict[str, Any]) -> list[str]:
    """Return what a well-formed item says, piece by piece; reasoning is not said."""
    kind = item_kind(item)
    if kind in _SILENT:
        return []
    if kind == MESSAGE:
        return _content(item["content"])
    if kind in OUTPUTS:
        return _output(item)
    if kind == "image_generation_call":
        return [placeholder("image", {"caption": item.get("revised_prompt")})]
    if kind in CALLS or kind in PROVIDED:
        made = f"{name_of(item)}({arguments_of(item)})"
        return [made, *_output(item)]
    content = item.get("content")
    texts = _content(content) if isinstance(content, (str, list)) else []
    return texts or _output(item) or [f"[{kind}]"]


def images(item: dict[str, Any]) -> int:
    """Return the number of images in a well-formed item."""
    kind = item_kind(item)
    if kind == "image_generation_call":
        return int(isinstance(item.get("result"), str))
    shown = item.get("content") if kind == MESSAGE else item.get("output")
    parts = [shown] if isinstance(shown, dict) else shown if isinstance(shown, list) else []
    return sum(kind_of(part) in ("input_image", _SCREENSHOT) for part in parts)


def name_of(item: dict[str, Any]) -> str:
    """Return the name of the tool that a call calls; built-in tools are named by their kind."""
    name = item.get("name")
    return name if isinstance(name, str) else item_kind(item).removesuffix("_call")


def arguments_of(item: dict[str, Any]) -> str:
    """Return the arguments of a call as text, compact JSON for mappings."""
    given = next((item[key] for key in _ARGUMENTS if item.get(key) is not None), "")
    return given if isinstance(given, str) else encode(given)


def output_text(item: dict[str, Any]) -> str:
    """Return what an output says."""
    return joined(_output(item) or [""])


def _content(content: str | list[Any]) -> list[str]:
    return [content] if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Any) -> str:
    kind = kind_of(part)
    if not kind:
        return ""
    text = part.get("refusal" if kind == "refusal" else "text")
    if isinstance(text, str):
        return text
    if kind == _SCREENSHOT:
        return "[image]"
    image = part.get("image_url")
    source = {"url": image} if isinstance(image, str) else None
    return placeholder(kind.removeprefix("input_"), part, source)


def _output(item: dict[str, Any]) -> list[str]:
    """Read an output; the provider's items have theirs beside the call."""
    if item_kind(item) == "mcp_approval_response":
        return ["approved" if item.get("approve") else "refused", str(item.get("reason") or "")]
    output = next((item[key] for key in ("output", "result") if item.get(key) is not None), None)
    if isinstance(output, dict):
        output = [output]
    if isinstance(output, list):
        return [_chunk(part) for part in output]
    if isinstance(output, str):
        return [output]
    listed = item.get("outputs") or item.get("results") or item.get("tools") or []
    return [_chunk(part) for part in listed] if isinstance(listed, list) else []


def _chunk(part: Any) -> str:
    """Read a part, or what a shell, an interpreter or a search found."""
    if isinstance(part, dict) and not isinstance(part.get("text"), str):
        streams = [part.get(key) for key in ("stdout", "stderr", "logs")]
        printed = [stream for stream in streams if isinstance(stream, str) and stream]
        if printed:
            return "\n".join(printed)
        if isinstance(part.get("name"), str):
            return str(part["name"])
    return part["text"] if isinstance(part, dict) and "text" in part else _part(part)
