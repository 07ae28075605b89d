"""A naive reader of messages: role, calls and results.

It is written for the oracle, from the providers' references, so that it shares no code with the
package that it checks. It reads well-formed messages only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warmset.messages import Dialect, Message


@dataclass(frozen=True, slots=True)
class Seen:
    """What the naive reader sees of a message.

    Args:
        who: "system", "user", "assistant" or "tool".
        asks: Whether it has a user's text.
        calls: Ids of its calls; names where there are no ids.
        answers: Ids of the calls that it answers; names where there are no ids.
        clings: Whether, in a list of items, it belongs to the items of the model next to it.
        thinks: Whether it begins with reasoning that opens a turn.
        reasons: Whether it is an item of reasoning.
        stem: The id of an item of the model's, without the prefix for its kind.
    """

    who: str
    asks: bool
    calls: list[str]
    answers: list[str]
    clings: bool = False
    thinks: bool = False
    reasons: bool = False
    stem: str = ""


def see(message: Message, dialect: Dialect) -> Seen:
    """Read one message."""
    if dialect == "openai":
        return _see_chat(message)
    if dialect == "responses":
        return _see_item(message)
    if dialect == "interactions":
        return _see_step(message)
    if dialect == "anthropic":
        return _see_blocks(message)
    return _see_parts(message)


def without_thinking(message: Message) -> Message:
    """Return a message as it may stay without its thinking, or without the reasoning beside it."""
    if message.get("type") and message["type"] != "message":
        return {name: value for name, value in message.items() if name != "id"}
    if isinstance(message.get("content"), list):
        thoughts = ("thinking", "redacted_thinking")
        rest = [block for block in message["content"] if block.get("type") not in thoughts]
        if rest != message["content"]:
            said = rest or [{"type": "text", "text": "(continued)"}]
            return {name: said if name == "content" else value for name, value in message.items()}
    return {name: value for name, value in message.items() if name != "id"}


def _see_chat(message: Message) -> Seen:
    role = message["role"]
    if role in ("system", "developer"):
        return Seen("system", False, [], [])
    if role == "tool":
        return Seen("tool", False, [], [message["tool_call_id"]])
    calls = [call["id"] for call in message.get("tool_calls") or []]
    return Seen(role, role == "user", calls, [])


def _see_item(item: Message) -> Seen:
    kind = item.get("type", "message")
    stem = (item.get("id") or "").split("_", 1)[-1]
    if kind == "message":
        role = item["role"]
        who = "system" if role in ("system", "developer") else role
        return Seen(who, who == "user", [], [], stem=stem if who == "assistant" else "")
    if kind.endswith("_output"):
        return Seen("tool", False, [], [item["call_id"]])
    calls = [item["call_id"]] if "call_id" in item else []
    return Seen("assistant", False, calls, [], True, reasons=kind == "reasoning", stem=stem)


def _see_step(step: Message) -> Seen:
    kind = step["type"]
    if kind == "user_input":
        return Seen("user", True, [], [])
    if kind == "function_result":
        return Seen("tool", False, [], [step["call_id"]])
    calls = [step["id"]] if kind == "function_call" else []
    return Seen("assistant", False, calls, [], clings=kind != "model_output")


def _see_blocks(message: Message) -> Seen:
    content = message["content"]
    blocks = [{"type": "text"}] if isinstance(content, str) else content
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    asks = message["role"] == "user" and any(block["type"] != "tool_result" for block in blocks)
    thinks = bool(blocks) and blocks[0]["type"] in ("thinking", "redacted_thinking")
    return Seen(message["role"], asks, calls, answers, thinks=thinks)


def _see_parts(content: Message) -> Seen:
    parts: list[dict[str, Any]] = content["parts"]
    calls = [_id(part["functionCall"]) for part in parts if "functionCall" in part]
    answers = [_id(part["functionResponse"]) for part in parts if "functionResponse" in part]
    model = content["role"] == "model"
    asks = not model and any("functionResponse" not in part for part in parts)
    return Seen("assistant" if model else "user", asks, calls, answers)


def _id(part: dict[str, Any]) -> str:
    return str(part.get("id") or part["name"])
