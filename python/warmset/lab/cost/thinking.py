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
        since_kept: Those of `kept` whose reply came since the list was last made anew.
        since_possible: Those of `possible`, likewise.
    """

    kept: int
    possible: int
    invalid: int
    since_kept: int
    since_possible: int


class Thinking:
    """Judges the lists of a session, one after the other."""

    def __init__(self) -> None:
        self._made: dict[bytes, tuple[bytes, int]] = {}  # block: prefix, reply
        self._shows: dict[bytes, int] = {}  # other block of a reply: reply
        self._blocks: list[int] = []  # of each reply, its blocks of thinking
        self._last = START
        self._first = 0  # the first reply since the list was made anew

    def send(self, blocks: Sequence[Block], *, anew: bool = False) -> Thought:
        """Judge a list that is sent.

        Args:
            blocks: The list.
            anew: Whether it was made anew, and does not continue the list before.
        """
        if anew:
            self._first = len(self._blocks)
        kept = invalid = since = 0
        shown: set[int] = set()
        before = START
        for block in blocks:
            made = self._made.get(block.piece.content)
            if made is not None:
                shown.add(made[1])
                kept += made[0] == before
                since += made[0] == before and made[1] >= self._first
                invalid += made[0] != before
            elif block.kind in _KINDS:
                invalid += 1
            elif (reply := self._shows.get(block.piece.content)) is not None:
                shown.add(reply)
            before = chain(before, block.piece.content)
        self._last = before
        possible = sum(self._blocks[reply] for reply in shown)
        possible_since = sum(self._blocks[reply] for reply in shown if reply >= self._first)
        return Thought(kept, possible, invalid, since, possible_since)

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
