"""Where the system messages of a list stand in an Anthropic request.

Those in front are the system prompt. One further back is a message of its own, which has to stand
right behind the user's turn and may be followed by the assistant's only. Source: the placement
rules of Anthropic's page on system messages within a conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.writable import PLACE

if TYPE_CHECKING:
    from warmset.messages.turns import Losses, Turn


def place_system(turns: list[Turn], losses: Losses) -> tuple[list[Turn], list[Turn]]:
    """Part turns into the system prompt and the messages, system messages moved where they may be.

    Args:
        turns: The turns, none of them empty.
        losses: Where a system message is reported that moves behind the user's turn that follows,
            as metadata, or for which there is no such turn, as content.

    Returns:
        The turns of the system prompt, those of the second kind last, and all others.
    """
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    head = turns[:first]
    placed: list[Turn] = []
    waiting: list[tuple[int, Turn]] = []  # each with the number of turns before it

    def settle() -> None:
        before = len(placed)
        for count, turn in waiting:
            if count < before:
                losses.metadata(turn.index, "the place of a system message, moved behind the user")
            placed.append(turn)
        waiting.clear()

    for turn in turns[first:]:
        if turn.role == "system":
            waiting.append((len(placed), turn))
            continue
        if turn.role == "assistant" and placed and placed[-1].role == "user":
            settle()
        placed.append(turn)
    if placed and placed[-1].role == "user":
        settle()
    for _, turn in waiting:
        losses.content(turn.index, PLACE)
        head.append(turn)
    return head, placed
