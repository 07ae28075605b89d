"""Merges neighbours of the same role, for providers and proxies that require alternating roles.

Anthropic's models on Bedrock and many proxies require strict alternation; Gemini only that a call
does not follow another content of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Message


def alternate(
    messages: Sequence[Message], dialect: Literal["anthropic", "gemini"] = "anthropic"
) -> list[Message]:
    """Merge adjacent messages of one role.

    The content of a run becomes one list of blocks or parts, in order; in Anthropic's dialect tool
    results come first. In Gemini's, only the model's contents are merged: a content of responses
    has to stand alone. The arguments are not changed, and a message without a neighbour of its role
    is returned as the same object.

    Args:
        messages: Well-formed messages of the dialect.
        dialect: The dialect, "anthropic" or "gemini".

    Returns:
        Messages of which no two neighbours have the same role, or are both the model's.

    Raises:
        InvalidInputError: The dialect is another one; those need no alternation.
    """
    if dialect not in ("anthropic", "gemini"):
        msg = f"dialect: expected 'anthropic' or 'gemini', found {dialect!r}; others do not merge"
        raise InvalidInputError(msg)
    ours = dialect == "anthropic"
    runs: list[list[Message]] = []
    for message in messages:
        role = message.get("role")
        if runs and runs[-1][0].get("role") == role and (ours or role == "model"):
            runs[-1].append(message)
        else:
            runs.append([message])
    merge = _merged_blocks if ours else _merged_parts
    return [run[0] if len(run) == 1 else merge(run) for run in runs]


def _merged_blocks(run: list[Message]) -> Message:
    blocks: list[Message] = []
    for message in run:
        content: Any = message["content"]
        said = [{"type": "text", "text": content}] if content else []
        blocks += said if isinstance(content, str) else content
    blocks.sort(key=lambda block: block["type"] != "tool_result")  # stable: the rest keeps order
    return _fields(run) | {"content": blocks}


def _merged_parts(run: list[Message]) -> Message:
    return _fields(run) | {
        "parts": [part for message in run for part in message.get("parts") or ()]
    }


def _fields(run: list[Message]) -> Message:
    """Return the fields of all messages; where several have one, the first message's."""
    fields: Message = {}
    for message in reversed(run):
        fields |= message
    return fields
