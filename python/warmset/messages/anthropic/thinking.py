"""The model's thinking in Anthropic messages: what binds it, and messages without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.anthropic import walk
from warmset.messages.anthropic.models import binds_thinking, thinks_at_will
from warmset.messages.mending import CONTINUED
from warmset.messages.prefix import Pieces, hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from warmset.messages.model import Message, Severity


CHANGED: str = "A15"
"""The rule that nothing before thinking changed."""

LEFT_OUT: str = "A16"
"""The rule that no thinking before it was left out."""


def severity(model: str) -> Severity | None:
    """Tell what becomes of a list with thinking whose prefix is another one.

    Args:
        model: The name of a model; one that is not known is taken for the strictest.

    Returns:
        "refused", or None for a model that does not look.
    """
    return "refused" if binds_thinking(model) else None


def count(message: Message) -> int:
    """Count the blocks of thinking in a message."""
    if message["role"] != "assistant":
        return 0
    return sum(map(walk.is_thought, walk.blocks(message)))


def key(message: Message) -> bytes:
    """Return a hash that tells the thinking of a message from any other.

    It is that of the first block, so that a message is known after it was merged with others.
    """
    return hash_of(next(filter(walk.is_thought, walk.blocks(message))))


def keys(message: Message) -> list[bytes]:
    """Return the keys that a message may have once some of its thinking left, in order."""
    return [hash_of(block) for block in walk.blocks(message) if walk.is_thought(block)]


def must_lead(model: str) -> bool:
    """Tell whether a model may refuse a tool loop that does not begin with its thinking (A6)."""
    return not thinks_at_will(model)


def pieces(message: Message) -> Pieces:
    """Return a message as it enters the hash of a prefix."""
    first: list[bytes] = []
    rest: list[bytes] = []
    spoken: list[bytes] = []
    for block in walk.as_blocks(message):
        hashed = hash_of(block)
        if block["type"] == walk.RESULT:
            first.append(hashed)
            continue
        rest.append(hashed)
        if not walk.is_thought(block):
            spoken.append(hashed)
    return Pieces(message["role"], b"".join(first), b"".join(rest), b"".join(spoken))


def reader(messages: Sequence[Message]) -> Callable[[int, Collection[int]], Message | None]:
    """Return a function that writes a message of a list whose thinking left in some places.

    It takes the position of the message, and the positions of all up to it that lost their
    thinking.
    """

    def written(at: int, left: Collection[int]) -> Message | None:
        message = messages[at]
        if at not in left:
            return message
        rest = [block for block in message["content"] if not walk.is_thought(block)]
        # An empty message is refused, and without it neighbours could be of one role.
        return message | {"content": rest or [{"type": "text", "text": CONTINUED}]}

    return written
