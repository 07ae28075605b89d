"""Stored messages in a window as the caller's last list has them; see `Ledger.variants`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.anthropic.marks import thinned
from warmset.messages.as_listed import count_thinking, with_marks, without_thinking
from warmset.messages.thinking import LEFT_OUT, Judged, RemovedThinking, Thinking

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from warmset.messages import Dialect, Message, System
    from warmset.messages.canonical import Variant


def marked(
    variants: Mapping[int, Variant],
    plain: Sequence[Message],
    turns: Sequence[int],
    dialect: Dialect,
    *,
    system: System | None,
    tools: Sequence[Mapping[str, Any]] | None,
) -> list[Message]:
    """Return the messages of a window with the cache marks that the caller's list has.

    Where a provider refuses a request with so many, the newest are kept.

    Args:
        variants: How the list has messages, by their ids.
        plain: The messages.
        turns: The id of each.
        dialect: Their dialect.
        system: The system prompt that is sent beside them; its marks count.
        tools: The tools that are sent with them; their marks count.

    Returns:
        The messages, the same objects where nothing changed.
    """
    made = list(plain)
    for at, turn in enumerate(turns) if variants else ():
        one = variants.get(turn)
        if one is not None and one.marks is not None:
            made[at] = with_marks(made[at], one.marks)
    if dialect != "anthropic":
        return made
    return thinned(made, system=system, tools=tools)


def bare_places(
    variants: Mapping[int, Variant], plain: Sequence[Message], turns: Sequence[int]
) -> set[int]:
    """Return the positions of messages whose thinking the caller's list left out."""
    return {
        at
        for at, turn in enumerate(turns)
        if turn in variants and variants[turn].bare and count_thinking(plain[at])
    }


def without_bare(plain: Sequence[Message], bare: Collection[int]) -> Judged:
    """Leave the thinking out of some messages, in a dialect whose thinking is not bound."""
    made: list[Message | None] = list(plain)
    removed: list[RemovedThinking] = []
    for at in sorted(bare):
        made[at] = without_thinking(plain[at])
        removed.append(RemovedThinking(at, count_thinking(plain[at]), LEFT_OUT))
    return Judged(made, Thinking(removed=tuple(removed), changed=tuple(sorted(bare))))
