"""Counts of texts, messages, system prompts and tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from warmset._core import count_text, count_texts
from warmset.errors import InvalidInputError, InvalidMessageError
from warmset.messages import Message, accept
from warmset.options import model as known_model
from warmset.tokens.number import (
    ESTIMATE_ERROR,
    FORMULA_ERROR,
    MEDIA_ERROR,
    PER_MESSAGE,
    PER_REPLY,
    TokenCount,
)
from warmset.tokens.shapes import Reading
from warmset.tokens.tools import tool_tokens

SystemPrompt: TypeAlias = str | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""A system prompt beside the messages: a text, blocks, or Gemini's content."""

ToolSchemas: TypeAlias = Sequence[Mapping[str, Any]]


def count_tokens(
    value: str | Mapping[str, Any] | Sequence[Any],
    *,
    encoding: str | None = None,
    model: str | None = None,
    system: SystemPrompt | None = None,
    tools: ToolSchemas | None = None,
) -> TokenCount:
    """Count the tokens of a text, a message, or a list of messages.

    Args:
        value: A text (counted as it is), one message, or a list of messages (with overhead).
        encoding: "o200k_base" (default), "cl100k_base" or "estimate".
        model: A model's name instead of an encoding; counts for an unknown name are estimates. It
            also decides the formula for images.
        system: A system prompt that is sent beside the messages.
        tools: Tool schemas that are sent with the call.

    Returns:
        The count, with `exact` and `error`.

    Raises:
        InvalidInputError: The encoding is unknown, both encoding and model are given, or the value
            is neither text nor messages.
    """
    chosen = chosen_encoding(encoding, model)
    if isinstance(value, str):
        tokens, exact = count_text(value, chosen)
        return TokenCount(tokens, exact=exact, error=0.0 if exact else _error(chosen))
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        found = type(value).__name__
        raise InvalidInputError(f"count_tokens: expected text or messages, found {found}")
    messages = accept([value] if isinstance(value, Mapping) else value)
    reading = Reading(model)
    total = sum(tally(messages, chosen, reading)) + PER_REPLY
    total += extra_tokens(chosen, system=system, tools=tools)
    return counted(total, chosen, guessed=reading.guessed)


def message_tokens(
    messages: Sequence[Message], encoding: str, *, model: str | None = None
) -> list[int]:
    """Count each message, with its overhead; a list's total is their sum plus `PER_REPLY`.

    Args:
        messages: Messages of any dialect.
        encoding: The vocabulary.
        model: The model's name, which decides what an image costs.

    Returns:
        Tokens, one number a message.

    Raises:
        InvalidInputError: The encoding is unknown.
    """
    return tally(messages, encoding, Reading(model))


def extra_tokens(
    encoding: str,
    *,
    system: SystemPrompt | None = None,
    tools: ToolSchemas | None = None,
) -> int:
    """Count the system prompt and the tools.

    Args:
        encoding: The vocabulary.
        system: A system prompt: a text, or blocks.
        tools: Tool schemas, by the formula of their dialect.

    Returns:
        Tokens.

    Raises:
        InvalidInputError: The encoding is unknown, or the tools are no list of schemas.
    """
    total = 0
    if system:
        if not isinstance(system, (str, Mapping, Sequence)):
            raise InvalidInputError(f"system: give a text or blocks, found {system!r:.80}")
        held = system if isinstance(system, Mapping) else {"content": system}
        total += message_tokens([{**held, "role": "system"}], encoding)[0]
    if tools:
        known = isinstance(tools, Sequence) and not isinstance(tools, (str, bytes))
        if not known or not all(isinstance(one, Mapping) for one in tools):
            raise InvalidInputError("tools: give a list of schemas, each of them a mapping")
        total += tool_tokens(tools, encoding)
    return total


def chosen_encoding(encoding: str | None, model: str | None) -> str:
    """Choose a vocabulary by its own name or a model's.

    Args:
        encoding: A vocabulary's name.
        model: A model's name.

    Returns:
        The vocabulary's name: "estimate" for an unknown model, "o200k_base" when none is named.

    Raises:
        InvalidInputError: Both are given.
    """
    if encoding is not None and model is not None:
        raise InvalidInputError("count_tokens: give an encoding or a model, not both")
    if model is not None:
        known = known_model(model)
        return known.encoding if known else "estimate"
    return "o200k_base" if encoding is None else encoding


def counted(total: int, encoding: str, *, guessed: int = 0) -> TokenCount:
    """Return a total of messages with its error.

    Args:
        total: Tokens.
        encoding: The vocabulary that the texts were counted with.
        guessed: The part of the total that is images and files of unknown size.

    Returns:
        The count; its error is the mean of the parts' errors, weighted by their tokens.
    """
    error = _error(encoding)
    if guessed:
        error += (MEDIA_ERROR - error) * guessed / total
    return TokenCount(total, exact=False, error=error)


def tally(messages: Iterable[Message], encoding: str, reading: Reading) -> list[int]:
    """Count each message, and keep in the reading what it found.

    Args:
        messages: Messages of any dialect.
        encoding: The vocabulary.
        reading: A fresh reading.

    Returns:
        Tokens, one number a message.

    Raises:
        InvalidInputError: The encoding is unknown.
        InvalidMessageError: A number in a message has too many digits to be written.
    """
    fixed: list[int] = []
    ends: list[int] = []
    texts = reading.texts
    try:
        for message in messages:
            fixed.append(PER_MESSAGE + reading.message(message))
            ends.append(len(texts))
    except InvalidInputError:
        raise
    except ValueError as error:  # an integer that Python refuses to write
        raise InvalidMessageError(len(fixed), f"{error}; write it as a string") from error
    counts = count_texts(texts, encoding)
    starts = [0, *ends[:-1]]
    return [
        overhead + sum(counts[start:end])
        for overhead, start, end in zip(fixed, starts, ends, strict=False)
    ]


def known_encoding(name: object) -> str:
    """Check the name of a vocabulary.

    Raises:
        InvalidInputError: There is no vocabulary of that name.
    """
    if not isinstance(name, str) or not name.isascii():
        raise InvalidInputError(f"encoding: expected the name of a vocabulary, found {name!r:.80}")
    count_text("", name)
    return name


def _error(encoding: str) -> float:
    return ESTIMATE_ERROR if encoding == "estimate" else FORMULA_ERROR
