"""LangChain's standard blocks (`output_version="v1"`) of Claude's replies, as Anthropic has them.

They are what `langchain-anthropic` sends for such a block, so that thinking is bound to the list
that really stands before it.
"""

from __future__ import annotations

from typing import Any, Final

_THINKING: Final = ("thinking", "redacted_thinking")
_NAMES: Final = {"code_interpreter": "code_execution"}


def is_of_claude(metadata: dict[str, Any]) -> bool:
    """Tell by its metadata whether a message with standard blocks is a reply of Claude's."""
    given = metadata.get("model_provider"), metadata.get("output_version")
    return given == ("anthropic", "v1")


def is_thinking(block: Any) -> bool:
    """Tell whether a standard block is a model's thinking, whoever made it."""
    if not isinstance(block, dict):
        return False
    held = block.get("value")
    kept = isinstance(held, dict) and held.get("type") in _THINKING
    return block.get("type") == "reasoning" or (block.get("type") == "non_standard" and kept)


def as_claude_has_it(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return a standard block as Anthropic has it; None if it has none for it.

    Blocks that are the same in both are returned as they are.
    """
    make = _MADE.get(str(block.get("type")))
    return block if make is None else make(block, block.get("extras") or {})


def _thought(block: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any] | None:
    if not extras.get("signature"):
        return None  # which Anthropic refuses
    signed = {"signature": extras["signature"]}
    return {"type": "thinking", "thinking": block.get("reasoning", ""), **signed}


def _own(block: dict[str, Any], _extras: dict[str, Any]) -> dict[str, Any] | None:
    held = block.get("value")
    return held if isinstance(held, dict) and "type" in held else None


def _use(block: dict[str, Any], _extras: dict[str, Any]) -> dict[str, Any]:
    name = {"id": block.get("id"), "name": block.get("name")}
    return {"type": "tool_use", **name, "input": block.get("args") or {}}


def _called(block: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any] | None:
    name, remote = block.get("name"), block.get("name") == "remote_mcp"
    made = {
        "type": "mcp_tool_use" if remote else "server_tool_use",
        "id": block.get("id"),
        "name": extras.get("tool_name") if remote else _NAMES.get(str(name), name),
        "input": block.get("args") or {},
    }
    if remote:
        made["server_name"] = extras.get("server_name")
    return made if all(made[field] is not None for field in made) else None


def _answered(block: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any] | None:
    kind, id_ = extras.get("block_type"), block.get("tool_call_id")
    if not kind or id_ is None:
        return None
    made = {"type": kind, "tool_use_id": id_, "content": block.get("output")}
    if kind == "mcp_tool_result":
        made["is_error"] = block.get("status") == "error"
    return made


_MADE: Final = {
    "reasoning": _thought,
    "non_standard": _own,
    "tool_call": _use,
    "server_tool_call": _called,
    "server_tool_result": _answered,
}
