"""Strict alternation, which Anthropic's Bedrock and many proxies demand: a rendering step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages.model import Message


def alternate(messages: Sequence[Message]) -> list[Message]:
    """Merge adjacent messages of one role, for Anthropic.

    The content of a run becomes one list of blocks, in order, tool results first. Nothing that was
    given is changed, and a message without a neighbour of its role comes out as the same object.

    Args:
        messages: Well-formed Anthropic messages.

    Returns:
        Messages of which no two neighbours have the same role.
    """
    runs: list[list[Message]] = []
    for message in messages:
        if runs and runs[-1][0]["role"] == message["role"]:
            runs[-1].append(message)
        else:
            runs.append([message])
    return [run[0] if len(run) == 1 else _merged(run) for run in runs]


def _merged(run: list[Message]) -> Message:
    merged: Message = {}
    blocks: list[Message] = []
    for message in run:
        merged = message | merged
        content = message["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks.sort(
        key=lambda block: block["type"] != "tool_result"
    )  # stable: the rest keeps its order
    return merged | {"content": blocks}
