"""Anthropic messages with as many cache marks as a request may have (A11)."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from warmset.messages.anthropic import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.messages.model import Message
    from warmset.messages.turns import System


def thinned(
    messages: Sequence[Message],
    *,
    system: System | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> list[Message]:
    """Leave the oldest marks out of a list that has too many for one request.

    Those of system messages that begin the list leave last: every request reads the cache there.

    Args:
        messages: The list.
        system: The system prompt that is sent beside it; its marks count, and stay.
        tools: The tools that are sent with it; their marks count, and stay.

    Returns:
        The messages, the same objects where nothing was left out.
    """
    made = list(messages)
    counts = [walk.marks(message) for message in made]
    around = [*(() if isinstance(system, str) else system or ()), *(tools or ())]
    beside = sum(one.get("cache_control") is not None for one in around)
    surplus = sum(counts) + beside - walk.MAX_MARKS
    if surplus <= 0:
        return made
    leading = sum(1 for _ in takewhile(lambda one: one["role"] == "system", made))
    for at in (*range(leading, len(made)), *range(leading)):
        left = min(surplus, counts[at])
        if left > 0:
            blocks, _ = _unmarked(made[at]["content"], left)
            made[at] = made[at] | {"content": blocks}
            surplus -= left
    return made


def _unmarked(
    blocks: list[Message], count: int, *, nested: bool = False
) -> tuple[list[Message], int]:
    """Take the first marks out of blocks; return the blocks and how many are still to be taken."""
    bare: list[Message] = []
    for given in blocks:
        block = given
        if count and walk.is_marked(block):
            block = {key: value for key, value in block.items() if key != "cache_control"}
            count -= 1
        content = block.get("content")
        if count and not nested and block["type"] == walk.RESULT and isinstance(content, list):
            inner, left = _unmarked(content, count, nested=True)
            block = block | {"content": inner} if left < count else block
            count = left
        bare.append(block)
    return bare, count
