"""Lists that clients sent before, so that one that begins like them costs what is new in it.

A client that keeps its own list sends all of it with each request, and what it sent before usually
in the same bytes. So the text of a list is held in blocks of some messages, with what was read from
them; the next list is compared with them block by block, which is a comparison of memory, and only
what follows is parsed. Nothing but equal text is taken for the same.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from warmset._support.forks import Lock
from warmset._support.locks import guarded
from warmset.messages.model import FixedList
from warmset.serve.proxy.listed import Part, listed_from, part_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.messages import Dialect
    from warmset.serve.proxy.listed import Listed

BLOCK: Final = 16 << 10
"""Characters that a block has at least, but for the last one of a list."""

LEAST: Final = 4 << 10
"""Characters of a list that is held."""

MOST: Final = 128 << 20
"""Bytes of memory that all lists take, as `_weight` estimates it; a longer one is not held."""

LISTS: Final = 256
"""Lists that are held."""

LOST: Final = 2
"""Messages at the end of an earlier list that may differ in one that takes its place: clients move
marks for the prompt cache from one message to the next."""

_ENDS: Final = 3
"""Blocks that the last messages of a list are in, at most, one of them being the one before."""

_DECODER: Final = json.JSONDecoder()
_NEXT: Final = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*")
_FIRST: Final = re.compile(r"\[[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class _Block:
    """Some messages of a list.

    Args:
        text: Their text, from the end of the block before.
        messages: They; never changed.
        weight: The bytes of memory that all of this takes.
        parts: What recognition needs of them, by their dialect, once it was asked for.
    """

    text: str
    messages: Sequence[Any]
    weight: int
    parts: dict[Dialect, Part] = field(default_factory=dict["Dialect", Part])

    def part(self, dialect: Dialect, start: int) -> Part:
        """Return what recognition needs of the messages; the first has the position `start`."""
        found = self.parts.get(dialect)
        if found is None:
            found = self.parts[dialect] = part_of(self.messages, dialect, start)
        return found


class ResentList:
    """A list as it was read.

    Args:
        blocks: Its messages in blocks.

    Attributes:
        messages: Its messages. Others share them: they must not be changed.
    """

    def __init__(self, blocks: Sequence[_Block]) -> None:
        self.blocks = blocks
        self.messages = FixedList()
        for block in blocks:
            self.messages += block.messages

    @property
    def size(self) -> int:
        """The characters of its text."""
        return sum(len(block.text) for block in self.blocks)

    @property
    def weight(self) -> int:
        """The bytes of memory that it takes."""
        return sum(block.weight for block in self.blocks)

    def listed(self, dialect: Dialect) -> Listed:
        """Return what recognition needs of it.

        Raises:
            InvalidInputError: It has no message, or one is not of the dialect.
        """
        parts: list[Part] = []
        start = 0
        for block in self.blocks:
            parts.append(block.part(dialect, start))
            start += len(block.messages)
        return listed_from(parts)


@guarded("self._lock", fields=("_lists",), calls=("_hold", "_begun"))
class ResentLists:
    """Holds the last lists of clients; several threads may use it, and the child of a fork.

    Args:
        most: Bytes of memory that all lists take.
        lists: How many lists are held.
    """

    def __init__(self, *, most: int = MOST, lists: int = LISTS) -> None:
        self._lock = Lock()
        self._most = most
        self._count = lists
        self._process = os.getpid()
        self._lists: list[tuple[str, ResentList]] = []  # with their owners, the newest last

    def read(self, owner: str, text: str, start: int) -> tuple[ResentList, int] | None:
        """Read a list of objects from JSON.

        Args:
            owner: Whose it is; only lists of the same owner are compared with it.
            text: A text with the list in it.
            start: Where it begins.

        Returns:
            The list, and where it ends; None if it is no list of objects, or has none.

        Raises:
            ValueError: It is no JSON.
            RecursionError: It is too deep.
        """
        with self._lock:
            begun = self._begun(owner, text, start)
        read = _read(text, start, begun)
        if read is None:
            return None
        made, end = read
        if made.size >= LEAST and made.weight <= self._most:
            with self._lock:
                self._hold(owner, made)
        return made, end

    def forget(self) -> None:
        """Forget everything, because something was erased."""
        with self._lock:
            self._lists = []

    def close(self, _timeout: float, /) -> None:
        """Forget everything, because the store is closed."""
        self.forget()

    def _begun(self, owner: str, text: str, start: int) -> Sequence[_Block]:
        """Return the longest beginning of a list that is held."""
        if self._process != os.getpid():  # a thread of the parent may have been at work
            self._process = os.getpid()
            self._lists = []
        best: Sequence[_Block] = ()
        for whose, held in reversed(self._lists):
            if whose != owner:
                continue
            same = _same(held.blocks, text, start)
            if same > len(best):
                best = held.blocks[:same]
            if same == len(held.blocks):
                break
        return best

    def _hold(self, owner: str, made: ResentList) -> None:
        """Hold a list, in the place of those that it goes on from."""
        self._lists = [
            (whose, held)
            for whose, held in self._lists
            if whose != owner or not _goes_on(held, made)
        ]
        self._lists.append((owner, made))
        left = self._most - made.weight
        kept = [self._lists.pop()]
        while self._lists and len(kept) < self._count:
            one = self._lists.pop()
            left -= one[1].weight
            if left < 0:
                break
            kept.append(one)
        self._lists = kept[::-1]


def _same(blocks: Sequence[_Block], text: str, start: int) -> int:
    """Return how many blocks a text has, one after the other."""
    at = start
    for count, block in enumerate(blocks):
        if not text.startswith(block.text, at):
            return count
        at += len(block.text)
    return len(blocks)


def _goes_on(before: ResentList, made: ResentList) -> bool:
    """Return whether a list has all messages of an earlier one but the last ones."""
    shared = list(takewhile(_is_one, zip(before.blocks, made.blocks, strict=False)))
    if len(before.blocks) - len(shared) > _ENDS:
        return False
    same = sum(len(one.messages) for one, _other in shared)
    end = max(len(before.messages) - LOST, 1)
    return before.messages[same:end] == made.messages[same:end]


def _is_one(pair: tuple[_Block, _Block]) -> bool:
    return pair[0] is pair[1]


def _read(text: str, start: int, begun: Sequence[_Block]) -> tuple[ResentList, int] | None:
    """Read a list that begins with some blocks."""
    blocks = list(begun)
    at = start + sum(len(block.text) for block in blocks)
    messages: list[Any] = []
    begin = at
    if blocks and len(blocks[-1].text) < BLOCK:  # it gets longer
        last = blocks.pop()
        begin -= len(last.text)
        messages += last.messages
    if at == start:
        first = _FIRST.match(text, at)
        if first is None or text.startswith("]", first.end()):
            return None
        after = first.end()
    else:
        after = _after(text, at)
    while after:
        one, at = _DECODER.raw_decode(text, after)
        if type(one) is not dict:  # the end of a number is not its own: it cannot be held
            return None
        messages.append(one)
        if at - begin >= BLOCK:
            blocks.append(_block(text[begin:at], messages))
            messages, begin = [], at
        after = _after(text, at)
    if messages:
        blocks.append(_block(text[begin:at], messages))
    return ResentList(blocks), text.index("]", at) + 1


def _block(text: str, messages: Sequence[Any]) -> _Block:
    return _Block(text, messages, _weight(text))


def _weight(text: str) -> int:
    """Estimate the bytes that a text and what is read from it take: its objects, lists, strings."""
    objects, lists, quotes = text.count("{"), text.count("["), text.count('"')
    return 2 * len(text) + 232 * objects + 64 * lists + 30 * quotes


def _after(text: str, at: int) -> int:
    """Return where the next message begins; 0 if the list ends before it.

    Raises:
        ValueError: Neither is there.
    """
    found = _NEXT.match(text, at)
    if found is None:
        raise ValueError
    return found.end() if found[1] == "," else 0
