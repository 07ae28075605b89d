"""OpenAI Chat Completions: the calls and results inside of one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.model import Answer, Message, Use
from warmset.messages.openai.grammar import body_of, calls_of, legacy_id, said_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def uses(message: Message) -> list[Use]:
    """Return the tool calls of a message; see `Tools`."""
    return calls_of(message)


def answers(message: Message) -> list[Answer]:
    """Return the tool results of a message; see `Tools`."""
    if message["role"] == "tool":
        return [Answer(message["tool_call_id"], said_of(message))]
    if message["role"] == "function":
        return [Answer(legacy_id(message["name"]), said_of(message))]
    return []


def with_answers(message: Message, texts: Mapping[int, str]) -> Message:
    """Return a copy in which some results say another text; see `Tools`."""
    if 0 in texts and message["role"] in ("tool", "function"):
        return {**message, "content": texts[0]}
    return dict(message)


def without_inputs(message: Message, calls: Collection[int]) -> Message:
    """Return a copy in which some calls have empty arguments; see `Tools`.

    Empty are the arguments "{}" of a function and the input "" of a custom tool.
    """
    made = message.get("tool_calls") or []
    fresh = dict(message)
    if any(place in calls for place in range(len(made))):
        fresh["tool_calls"] = [
            _emptied(call) if place in calls else call for place, call in enumerate(made)
        ]
    if len(made) in calls and message.get("function_call") is not None:
        fresh["function_call"] = {**message["function_call"], "arguments": "{}"}
    return fresh


def _emptied(call: dict[str, Any]) -> dict[str, Any]:
    kind: str = call.get("type") or "function"
    empty = {"custom": {"input": ""}, "function": {"arguments": "{}"}}.get(kind, {})
    return {**call, kind: {**body_of(call), **empty}}
