"""The model's reasoning in Responses items: what binds it, and lists without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.prefix import Pieces, hash_of
from warmset.messages.responses.kinds import PROVIDED, REASONING, REFERENCE, item_id, item_kind
from warmset.messages.responses.reasoning import made_with, nameless

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from warmset.messages.model import Message, Severity


CHANGED: str = "R9"
"""The rule that nothing before reasoning changed."""

LEFT_OUT: str = "R10"
"""The rule that no reasoning before it was left out."""


def severity(_model: str) -> Severity | None:
    """Tell what becomes of a list with reasoning whose prefix is another one.

    Newer models of OpenAI's drop the reasoning and take the list. Which models do so is not
    documented.
    """
    return "discouraged"


def count(item: Message) -> int:
    """Tell whether an item is reasoning, as a number."""
    return int(item_kind(item) == REASONING)


def key(item: Message) -> bytes:
    """Return a hash that tells reasoning from any other."""
    return hash_of(item)


def keys(item: Message) -> list[bytes]:
    """Return the only key that reasoning may have."""
    return [key(item)]


def must_lead(_model: str) -> bool:
    """Tell whether a model refuses a tool loop without its reasoning: none does."""
    return False


def pieces(item: Message) -> Pieces:
    """Return an item as it enters the hash of a prefix."""
    if item_kind(item) == REASONING:
        return Pieces("", b"", hash_of(item), b"")
    return Pieces("", b"", hash_of(item), hash_of(nameless(item)))


def reader(items: Sequence[Message]) -> Callable[[int, Collection[int]], Message | None]:
    """Return a function that writes an item of a list whose reasoning left in some places.

    It takes the position of the item, and the positions of all reasoning up to it that left. What
    was made with that reasoning loses its id, with which the provider would ask for the reasoning;
    an item of a tool that the provider ran, which cannot do without its id, leaves.
    """
    made = made_with(items)

    def written(at: int, left: Collection[int]) -> Message | None:
        item, leads = items[at], made[at]
        if at in left:
            return None
        if not leads or not leads.issubset(left) or item_id(item) is None:
            return item
        kind = item_kind(item)
        if kind in PROVIDED:
            return None
        return item if kind == REFERENCE else nameless(item)

    return written
