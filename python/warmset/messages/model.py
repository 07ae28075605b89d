"""The words of this package: what a message, its facts and a violation are.

A `Message` is what the provider's API takes: a dict that holds JSON values. It is never rewritten
into a model of ours; `Facts` are read off it, and what we do not know stays in it untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

Dialect: TypeAlias = Literal["openai", "responses", "anthropic", "gemini"]
"""How a list of messages is written: OpenAI Chat Completions, OpenAI Responses items, Anthropic
Messages, or Gemini contents."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Message: TypeAlias = dict[str, Any]
"""One element of a conversation's list, as the provider's API takes it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rest of warmset needs to know of one message, read once.

    Args:
        role: Whose message it is, in OpenAI's words: Gemini's model is the assistant, a Responses
            item without a role is the assistant's or a tool's.
        text: What is said, for indexing and embedding: valid Unicode, lone surrogates replaced.
        calls: Ids of the tool calls that the message makes, in order.
        results: Ids of the tool calls that it answers, in order.
        speaker: The name of who speaks, where the dialect has one.
        images: Number of images, those in tool results included.
        request: Whether a user says something here, and not only tools.
        bond: How it holds to its neighbours where a response is several items: 0 stands alone, 1
            goes with an adjacent item that reasons or calls, 2 reasons or calls.
        thinks: Whether the assistant's message begins with reasoning of the kind that must stay
            at the front of an unfinished tool loop.
        keep: Whether it must never leave: a provider's compaction, which stands for what it ate.
    """

    role: str
    text: str
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    speaker: str | None = None
    images: int = 0
    request: bool = False
    bond: int = 0
    keep: bool = False
    thinks: bool = False

    @property
    def is_system(self) -> bool:
        """Whether the message instructs the model: a system or a developer message."""
        return self.role in ("system", "developer")


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where a list breaks a rule of its dialect.

    Args:
        rule: The rule's name, as C1 or A2; "shape" for a message that is no message.
        index: Position of the message in the list.
        why: What is wrong.
        fix: How to mend it.
    """

    rule: str
    index: int
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What makes a message malformed.

    Args:
        why: What is wrong and how to mend it.
        rule: The rule's name, where the provider's rules have one for it.
    """

    why: str
    rule: str = "shape"


@dataclass(frozen=True, slots=True)
class Use:
    """One tool call of a message.

    Args:
        id: The call's id; Gemini's calls without one have their name.
        name: The tool's name.
        arguments: Its arguments as text, as they are written; compact JSON for mappings.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One tool result of a message.

    Args:
        id: The id of the call that it answers.
        text: What it says.
    """

    id: str
    text: str


Rule: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], Iterator[Violation]]
"""A named predicate over a whole list: it yields where it is broken, in linear time."""


class Grammar(Protocol):
    """What a dialect's module knows of one message; the module itself implements this."""

    def mark(self, message: Message, /) -> str | None:
        """Name what in the message no other dialect has; None where it would fit both."""
        ...

    def fault(self, message: Message, /) -> Fault | None:
        """Say what makes the message malformed and how to mend it; None where it is well-formed.

        Only shapes are judged that the rest of warmset relies on; whether a list is valid as a
        whole is for `validate`.
        """
        ...

    def facts(self, message: Message, /) -> Facts:
        """Read the facts of a well-formed message."""
        ...

    def say(self, role: str, text: str, /) -> Message:
        """Make a message that says one text; whether the dialect has the role is for `fault`."""
        ...


class Tools(Protocol):
    """What a dialect's module knows of the tools in one message; the module implements this.

    Calls and results are counted from 0 in the order in which they stand in the message, so that
    those without ids can be told apart.
    """

    def uses(self, message: Message, /) -> list[Use]:
        """Return the tool calls of a well-formed message, in order, as in `Facts.calls`."""
        ...

    def answers(self, message: Message, /) -> list[Answer]:
        """Return the tool results of a well-formed message, in order, as in `Facts.results`."""
        ...

    def with_answers(self, message: Message, texts: Mapping[int, str], /) -> Message:
        """Return a copy in which some results say another text; the rest of it is as it was."""
        ...

    def without_inputs(self, message: Message, calls: Collection[int], /) -> Message:
        """Return a copy in which some calls have empty arguments; the rest of it is as it was."""
        ...
