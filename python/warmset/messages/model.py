"""The words of this package: what a message, its facts and a problem are.

A `Message` is what the provider's API takes: a dict that holds JSON values. It is never rewritten
into a model of ours; `Facts` are read off it, and what we do not know stays in it untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

Dialect: TypeAlias = Literal["openai", "anthropic"]
"""How a list of messages is written: OpenAI Chat Completions, or Anthropic Messages."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Message: TypeAlias = dict[str, Any]
"""One element of a conversation's list, as the provider's API takes it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rest of warmset needs to know of one message, read once.

    Args:
        role: The message's role, as it is written.
        text: What is said, for indexing and embedding: valid Unicode, lone surrogates replaced.
        calls: Ids of the tool calls that the message makes, in order.
        results: Ids of the tool calls that it answers, in order.
        speaker: The name of who speaks, where the dialect has one.
        images: Number of images, those in tool results included.
        request: Whether a user says something here, and not only tools.
    """

    role: str
    text: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    speaker: str | None = None
    images: int = 0
    request: bool = False

    @property
    def is_system(self) -> bool:
        """Whether the message instructs the model: a system or a developer message."""
        return self.role in ("system", "developer")


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a list breaks a rule of its dialect.

    Args:
        index: Position of the message in the list.
        rule: The rule's name, as C1 or A2.
        why: What is wrong and how to mend it.
    """

    index: int
    rule: str
    why: str


Rule: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], Iterator[Problem]]
"""A named predicate over a whole list: it yields where it is broken, in linear time."""


class Grammar(Protocol):
    """What a dialect's module knows of one message; the module itself implements this."""

    def mark(self, message: Message, /) -> str | None:
        """Name what in the message no other dialect has; None where it would fit both."""
        ...

    def fault(self, message: Message, /) -> str | None:
        """Say what makes the message malformed and how to mend it; None where it is well-formed.

        Only shapes are judged that the rest of warmset relies on; whether a list is valid as a
        whole is for `check`.
        """
        ...

    def facts(self, message: Message, /) -> Facts:
        """Read the facts of a well-formed message."""
        ...
