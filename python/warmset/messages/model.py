"""The types of this package: messages, facts and violations.

A `Message` is a dict of JSON values, as the provider's API takes it. It is never converted to an
own model; `Facts` are read from it, and unknown fields stay in it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

Dialect: TypeAlias = Literal["openai", "responses", "anthropic", "gemini", "interactions"]
"""The dialect of a list of messages: OpenAI Chat Completions, OpenAI Responses items, Anthropic
Messages, Gemini contents, or Gemini Interactions steps."""

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

Message: TypeAlias = dict[str, Any]
"""One element of a conversation's list, as the provider's API takes it."""


class FixedList(list[Message]):
    """Messages that nobody changes, so that one of them is known by being the same object.

    Callers' lists are compared by value, because callers may edit messages in place.
    """


@dataclass(frozen=True, slots=True)
class Facts:
    """What warmset needs to know about a message, read from it once.

    Args:
        role: Its role in OpenAI's terms: Gemini's model is the assistant; a Responses item or a
            step of Interactions without a role is a user's, the assistant's or a tool's.
        text: Its text, for indexing and embedding: valid Unicode, lone surrogates replaced.
        calls: Ids of the tool calls that the message makes, in order.
        results: Ids of the tool calls that it answers, in order.
        speaker: The speaker's name, if the dialect has one.
        images: Number of images, those in tool results included.
        request: Whether it has a user's text, and not only tool results.
        bond: How it belongs to its neighbours: 0 stands alone; of a response with several items, 1
            belongs to an adjacent one with reasoning or calls, 2 has calls, 3 is reasoning, 5
            refers to a stored one that may be a call; 4 belongs to whatever stands before it.
        item_id: The id that the provider gave an item of a response, without the prefix for its
            kind; empty if it has none. With it the item needs the reasoning that it was made with.
        thinks: Whether the assistant's message begins with reasoning of the kind that must stay
            at the front of an unfinished tool loop.
        keep: Whether it must never be dropped: a provider's compaction, which replaces earlier
            messages.
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
    item_id: str = ""

    @property
    def is_system(self) -> bool:
        """Whether the message instructs the model: a system or a developer message."""
        return self.role in ("system", "developer")


Severity: TypeAlias = Literal["refused", "discouraged"]
"""What a provider does with a list that breaks a rule: it answers with an error, or it takes the
list, which a proxy, another model or a stricter provider of the same dialect may refuse."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A place where a list breaks a rule of its dialect.

    Args:
        rule: The rule's name, as C1 or A2; "shape" for a malformed message.
        index: Position of the message in the list.
        why: What is wrong.
        fix: How to fix it.
        severity: "refused" if the provider answers such a list with an error, "discouraged" if it
            takes the list.
    """

    rule: str
    index: int
    why: str
    fix: str
    severity: Severity = "refused"


@dataclass(frozen=True, slots=True)
class Request:
    """What a list of messages does not tell about the request that sends it.

    Args:
        continues: Whether the provider has earlier messages stored, and the list goes on behind
            them: `previous_response_id` or `conversation` of OpenAI, `previous_interaction_id` of
            Gemini.
        model: The name of the model; empty if it is not known.
    """

    continues: bool = False
    model: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why a message is malformed.

    Args:
        why: What is wrong and how to fix it.
        rule: The name of the provider's rule, if there is one.
    """

    why: str
    rule: str = "shape"


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call of a message.

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
    """A tool result of a message.

    Args:
        id: The id of the call that it answers.
        text: Its text.
        failed: Whether it is marked as an error; only Anthropic and Gemini have such a mark.
    """

    id: str
    text: str
    failed: bool = False


Rule: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], Iterator[Violation]]
"""A named predicate over a whole list: it yields where it is broken, in linear time."""

Rules: TypeAlias = Callable[[Request], tuple[Rule, ...]]
"""Returns the rules that hold for the list of a request."""


class Grammar(Protocol):
    """Checks and reads single messages of a dialect; the dialect's module implements it."""

    def mark(self, message: Message, /) -> str | None:
        """Name what in the message no other dialect has; None if there is nothing."""
        ...

    def fault(self, message: Message, /) -> Fault | None:
        """Return what makes the message malformed and how to fix it; None if it is well-formed.

        Only the shapes are checked on which warmset relies; `validate` checks whole lists.
        """
        ...

    def facts(self, message: Message, /) -> Facts:
        """Read the facts of a well-formed message."""
        ...

    def say(self, role: str, text: str, /) -> Message:
        """Return a message with a text; `fault` checks whether the dialect has the role."""
        ...


class Tools(Protocol):
    """Reads and replaces the tool calls and results of a message; each dialect implements it.

    Calls and results are numbered from 0 in their order in the message, so that those without ids
    can be distinguished.
    """

    def uses(self, message: Message, /) -> list[Use]:
        """Return the tool calls of a well-formed message, in order, as in `Facts.calls`."""
        ...

    def answers(self, message: Message, /) -> list[Answer]:
        """Return the tool results of a well-formed message, in order, as in `Facts.results`."""
        ...

    def with_answers(self, message: Message, texts: Mapping[int, str], /) -> Message:
        """Return a copy with other texts in some results; everything else is unchanged."""
        ...

    def without_inputs(self, message: Message, calls: Collection[int], /) -> Message:
        """Return a copy with empty arguments in some calls; everything else is unchanged."""
        ...
