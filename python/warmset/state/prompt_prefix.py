"""What was sent last, so that the next window can tell how much of its front is the same."""

from __future__ import annotations

from itertools import takewhile
from operator import eq, is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warmset._core import content_hash
from warmset.messages import dumps
from warmset.tokens import extra_tokens, message_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset.messages import Message, System

Mark: TypeAlias = "int | bytes"
"""What tells a message from others, with the order of its keys."""

_BLOCKS: Final = ("content", "parts")


class Known:
    """Messages whose marks and tokens are known, by their identity; it keeps them alive."""

    __slots__ = ("_places", "marks", "messages", "tokens")

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self.messages: list[Message] = []
        self.marks: list[Mark] = []
        self.tokens: list[int] = []

    def add(
        self, messages: Sequence[Message], marks: Sequence[Mark], tokens: Iterable[int]
    ) -> None:
        """Note messages that nobody changes meanwhile."""
        self.messages += messages
        self.marks += marks
        self.tokens += tokens

    def are_all(self, messages: Sequence[Message]) -> bool:
        """Return whether these are all messages that are known, in order."""
        mine = self.messages
        return len(messages) == len(mine) and all(map(is_, messages, mine))

    def find(self, messages: Sequence[Message]) -> list[int | None]:
        """Return the place of each message in the lists; None for what is not known."""
        if self.are_all(messages):
            return list(range(len(messages)))
        first = len(self._places)
        places = range(first, len(self.messages))
        self._places.update(zip(map(id, self.messages[first:]), places, strict=True))
        return list(map(self._places.get, map(id, messages)))


class Sent:
    """The messages of a window, by what tells them apart; their texts are not kept.

    Args:
        messages: The messages.
        system: A system prompt beside them.
        tools: Tool schemas that travel along.
        known: What is known of some of them.
    """

    def __init__(
        self,
        messages: Sequence[Message] = (),
        *,
        system: System | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        known: Known | None = None,
    ) -> None:
        self._marks: list[Mark] = []
        self._inner: dict[int, tuple[str, list[Mark]]] = {}
        self._counted: list[int] = []
        self._beside = (system, tools)
        self._around = None if system is None and tools is None else hash(repr(self._beside))
        if known is not None and known.are_all(messages):  # a loop over a long list takes its time
            self._marks = known.marks.copy()
            return
        found = [None] * len(messages) if known is None else known.find(messages)
        marks = () if known is None else known.marks
        for at, place in enumerate(found):
            if place is not None:
                self._marks.append(marks[place])
                continue
            self._marks.append(mark_of(messages[at]))
            for key in _BLOCKS:
                if isinstance(blocks := messages[at].get(key), list):
                    self._inner[at] = key, [_mark(block) for block in blocks]

    def cached(self, messages: Sequence[Message], before: Sent, encoding: str) -> int:
        """Count the tokens at the front that are the same as in the window before.

        Of the first message that is not, its first blocks may be: a provider's cache does not end
        with messages. Nothing is the same where the system prompt or the tools are not.

        Args:
            messages: The messages.
            before: The window before.
            encoding: The vocabulary.
        """
        if self._around != before._around or not before._marks:
            return 0
        same = sum(takewhile(bool, map(eq, self._marks, before._marks)))
        known = before._counted[:same]
        fresh = messages[len(known) : same]
        self._counted = [*known, *message_tokens(fresh, encoding)] if fresh else known
        system, tools = self._beside
        around = extra_tokens(encoding, system=system, tools=tools)
        return around + sum(self._counted) + self._begun(messages, before, same, encoding)

    def _begun(self, messages: Sequence[Message], before: Sent, at: int, encoding: str) -> int:
        """Count the blocks at the front of a message that are the same."""
        if at not in self._inner or at not in before._inner:
            return 0
        key, marks = self._inner[at]
        name, others = before._inner[at]
        same = sum(takewhile(bool, map(eq, marks, others))) if key == name else 0
        message = messages[at]
        return message_tokens([{**message, key: message[key][:same]}], encoding)[0] if same else 0


def mark_of(message: Message) -> Mark:
    """Tell a message from others, with the order of its keys."""
    if all(isinstance(value, str) for value in message.values()):
        return hash(tuple(message.items()))
    return content_hash(dumps(message))


def _mark(block: object) -> Mark:
    return content_hash(dumps({"block": block}))
