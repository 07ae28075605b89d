"""Counters of messages: by a vocabulary, or by a caller's function.

Every counter has three methods, so that a list can be fitted without being counted again at each
step: for the whole list, for each message, and for the overhead.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from warmset._core import count_texts
from warmset.errors import CountError, InvalidInputError
from warmset.messages import Message
from warmset.options import model as known_model
from warmset.tokens.number import PER_REPLY, TokenCount
from warmset.tokens.shapes import Reading
from warmset.tokens.totals import (
    SystemPrompt,
    ToolSchemas,
    counted,
    extra_tokens,
    message_tokens,
    tally,
)

CountFunction: TypeAlias = Callable[[list[Message]], int]
"""A function from a list of messages to its tokens."""

_ENCODINGS = ("o200k_base", "cl100k_base", "estimate")


@runtime_checkable
class Counter(Protocol):
    """Counts messages; if it is additive, a list's count is its overhead plus its costs."""

    def count(self, messages: Sequence[Message]) -> TokenCount:
        """Count a whole list, as it would be sent."""
        ...

    def costs(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of each message."""
        ...

    def overhead(self, system: SystemPrompt | None = None, tools: ToolSchemas | None = None) -> int:
        """Count the tokens of a list besides its messages."""
        ...


CounterLike: TypeAlias = str | CountFunction | Counter | None
"""Everything that `counter` accepts."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Counts with a bundled vocabulary and the published formulas.

    Args:
        encoding: "o200k_base", "cl100k_base" or "estimate".
        model: The model's name, which decides what an image costs.
    """

    encoding: str = "o200k_base"
    model: str | None = None

    def __post_init__(self) -> None:
        count_texts([], self.encoding)

    def count(self, messages: Sequence[Message]) -> TokenCount:
        """Count a whole list; its error is stated."""
        reading = Reading(self.model)
        total = self.overhead() + sum(tally(messages, self.encoding, reading))
        return counted(total, self.encoding, guessed=reading.guessed)

    def costs(self, messages: Sequence[Message]) -> list[int]:
        """Count each message."""
        return message_tokens(messages, self.encoding, model=self.model)

    def overhead(self, system: SystemPrompt | None = None, tools: ToolSchemas | None = None) -> int:
        """Count what primes the reply, the system prompt and the tools."""
        return PER_REPLY + extra_tokens(self.encoding, system=system, tools=tools)


@dataclass(frozen=True, slots=True)
class Function:
    """Counts with a caller's function, whose count of a whole list is taken as exact.

    Args:
        function: Returns the tokens of a list of messages.
    """

    function: CountFunction

    def count(self, messages: Sequence[Message]) -> TokenCount:
        """Call the function on the whole list."""
        return TokenCount(asked(self.function, list(messages)), exact=True)

    def costs(self, messages: Sequence[Message]) -> list[int]:
        """Call the function on each message alone, and subtract its count of an empty list."""
        base = asked(self.function, [])
        return [max(0, asked(self.function, [message]) - base) for message in messages]

    def overhead(self, system: SystemPrompt | None = None, tools: ToolSchemas | None = None) -> int:
        """Call the function on an empty list; system prompt and tools count as a system message."""
        beside: list[Message] = []
        if system:
            held = system if not isinstance(system, (str, Sequence)) else {"content": system}
            beside.append({**held, "role": "system"})
        total = asked(self.function, beside)
        return total + (extra_tokens("o200k_base", tools=tools) if tools else 0)


def counter(authority: CounterLike = None) -> Counter:
    """Return a counter for an encoding, a model or a function.

    Args:
        authority: The name of an encoding or a model (an unknown one is estimated), a function from
            a list of messages to its tokens, a counter (returned unchanged), or None for
            "o200k_base".

    Returns:
        The counter.

    Raises:
        InvalidInputError: It is none of these.
    """
    if authority is None:
        return Vocabulary()
    if isinstance(authority, str):
        if authority in _ENCODINGS:
            return Vocabulary(authority)
        known = known_model(authority)
        return Vocabulary(known.encoding if known else "estimate", authority)
    if isinstance(authority, Counter) and not isinstance(authority, type):
        return authority
    if callable(authority):
        return Function(authority)
    found = type(authority).__name__
    raise InvalidInputError(
        f"counter: give an encoding, a model, a function or a counter, found {found}"
    )


def asked(function: Callable[[list[Message]], Any], messages: list[Message]) -> int:
    """Call a function for a count, and check its result.

    Args:
        function: The function.
        messages: The messages to count.

    Returns:
        The count.

    Raises:
        CountError: It raised, or its result is not a number of tokens.
    """
    try:
        answer: object = function(messages)
    except Exception as error:
        kind = type(error).__name__
        why = f"the counter raised {kind} on {len(messages)} messages: {error}"
        raise CountError(why) from error
    return tokens_of(answer)


def tokens_of(answer: object) -> int:
    """Check that a result is a number of tokens.

    Args:
        answer: The result of a counter.

    Returns:
        The number.

    Raises:
        CountError: It is not an integer, or is negative.
    """
    if inspect.iscoroutine(answer):
        answer.close()
        raise CountError("the counter is asynchronous; give a function that waits for the answer")
    try:
        tokens = -1 if isinstance(answer, bool) else operator.index(cast("int", answer))
    except TypeError:
        tokens = -1
    if tokens < 0:
        raise CountError(f"a counter returns a whole number of tokens, 0 or more, not {answer!r}")
    return tokens
