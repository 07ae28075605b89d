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


@dataclass(frozen=True, slots=True)
class _Compacted:
    """A list that a provider compacted.

    Args:
        whole: The chain of all its blocks.
        beside: The chain of its system prompt and tools.
        role: The role of its last message.
    """

    whole: bytes
    beside: bytes
    role: str

    def instead(self, before: bytes, rest: Sequence[Block]) -> bytes | None:
        """Return the chain of a list up to the compaction with the compacted list in its place.

        Args:
            before: The chain of what stands before the compaction.
            rest: The blocks behind it.

        Returns:
            The chain; None where a model does not take the thinking of before behind it: system
            prompt or tools are others, a message is before it, or the first message behind it would
            be merged with the last compacted one.
        """
        merged = bool(rest) and rest[0].role == self.role
        return None if merged or before != self.beside else self.whole


class Thinking:
    """Judges the lists of a session, one after the other."""

    def __init__(self) -> None:
        self._made: dict[bytes, tuple[bytes, int]] = {}  # block: prefix, reply
        self._shows: dict[bytes, int] = {}  # other block of a reply: reply
        self._blocks: list[int] = []  # of each reply, its blocks of thinking
        self._last = START
        self._first = 0  # the first reply since the list was made anew
        self._stands: dict[bytes, _Compacted] = {}  # compaction: what it stands for

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
        before, instead = START, None
        for at, block in enumerate(blocks):
            made = self._made.get(block.piece.content)
            if made is not None:
                valid = made[0] in (before, instead)
                shown.add(made[1])
                kept += valid
                since += valid and made[1] >= self._first
                invalid += not valid
            elif block.kind in _KINDS:
                invalid += 1
            elif (reply := self._shows.get(block.piece.content)) is not None:
                shown.add(reply)
            if (stands := self._stands.get(block.piece.content)) is not None:
                instead = stands.instead(before, blocks[at + 1 :])
            elif instead is not None:
                instead = chain(instead, block.piece.content)
            before = chain(before, block.piece.content)
        self._last = before
        possible = sum(self._blocks[reply] for reply in shown)
        possible_since = sum(self._blocks[reply] for reply in shown if reply >= self._first)
        return Thought(kept, possible, invalid, since, possible_since)

    def compact(self, blocks: Sequence[Block], compaction: Block) -> None:
        """Note what a provider returned in the place of a list.

        Args:
            blocks: The list.
            compaction: What takes the place of its messages.
        """
        whole = beside = START
        for block in blocks:
            whole = chain(whole, block.piece.content)
            if not block.role:
                beside = whole
        made = _Compacted(whole, beside, blocks[-1].role)
        self._stands[compaction.piece.content] = made

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
