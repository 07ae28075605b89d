"""Which thinking of a list is still valid: its bytes and all that stood before it are unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warmset.lab.cost.prompt_cache import START, chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.lab.cost.request import Block

_KINDS: Final = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Thought:
    """The thinking of one list.

    Args:
        kept: Blocks that are as they were replied, behind what stood before them then.
        possible: Blocks of the replies that the list shows.
        invalid: Blocks of which this is not so; a provider drops them, or refuses the list.
    """

    kept: int
    possible: int
    invalid: int


class Thinking:
    """Judges the lists of a session, one after the other."""

    def __init__(self) -> None:
        self._made: dict[bytes, tuple[bytes, int]] = {}  # block: prefix, reply
        self._shows: dict[bytes, int] = {}  # other block of a reply: reply
        self._blocks: list[int] = []  # of each reply, its blocks of thinking
        self._last = START

    def send(self, blocks: Sequence[Block]) -> Thought:
        """Judge a list that is sent."""
        kept = invalid = 0
        shown: set[int] = set()
        before = START
        for block in blocks:
            made = self._made.get(block.piece.content)
            if made is not None:
                shown.add(made[1])
                kept += made[0] == before
                invalid += made[0] != before
            elif block.kind in _KINDS:
                invalid += 1
            elif (reply := self._shows.get(block.piece.content)) is not None:
                shown.add(reply)
            before = chain(before, block.piece.content)
        self._last = before
        return Thought(kept, sum(self._blocks[reply] for reply in shown), invalid)

    def reply(self, blocks: Sequence[Block]) -> None:
        """Note the reply to the list that was sent last."""
        number, before = len(self._blocks), self._last
        for block in blocks:
            if block.kind in _KINDS:
                self._made[block.piece.content] = before, number
            else:
                self._shows[block.piece.content] = number
            before = chain(before, block.piece.content)
        self._blocks.append(sum(block.kind in _KINDS for block in blocks))
