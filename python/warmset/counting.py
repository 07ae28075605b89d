"""How many tokens a text or a list of messages is, and how far that can be trusted.

Text under a bundled vocabulary is counted exactly. Everything that a provider adds by a formula of
its own (roles, calls, schemas, images) is an estimate with a stated error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self, cast

from warmset import _core
from warmset.config import model as known_model
from warmset.errors import InvalidInputError
from warmset.messages import Message, accept

PER_MESSAGE: Final = 4
"""Tokens around each message: role and separators (OpenAI's published formula, 3, and the role)."""

PER_REPLY: Final = 3
"""Tokens that prime the reply, once a list."""

PER_CALL: Final = 8
"""Tokens around each tool call or result: its type, id and separators."""

PER_IMAGE: Final = 1_100
"""Tokens of an image whose size is not known: between a small and a large one of both providers."""

FORMULA_ERROR: Final = 0.05
ESTIMATE_ERROR: Final = 0.30
"""Relative errors that are stated for formulas and for counts without a vocabulary."""

_QUIET: Final = frozenset({"type", "cache_control", "signature", "data", "encrypted_content"})


class TokenCount(int):
    """A number of tokens that knows how far it can be trusted.

    Attributes:
        exact: Whether it is the reference tokeniser's count of a text.
        error: The stated relative error; 0 where it is exact.
    """

    exact: bool
    error: float

    def __new__(cls, tokens: int, *, exact: bool, error: float = 0.0) -> Self:
        """Make a count."""
        count = super().__new__(cls, tokens)
        count.exact = exact
        count.error = error
        return count

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (int(self), self.exact, self.error)


def _restore(tokens: int, exact: bool, error: float) -> TokenCount:  # noqa: FBT001
    return TokenCount(tokens, exact=exact, error=error)


def count_tokens(
    value: str | Mapping[str, Any] | Sequence[Any],
    *,
    encoding: str | None = None,
    model: str | None = None,
    system: str | Sequence[Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> TokenCount:
    """Count the tokens of a text, a message, or a list of messages.

    Args:
        value: A text (counted as it is), one message, or a list of messages (with overhead).
        encoding: "o200k_base" (default), "cl100k_base" or "estimate".
        model: A model's name instead of an encoding; an unknown name is an estimate.
        system: A system prompt beside the messages.
        tools: Tool schemas that travel with the messages.

    Returns:
        The count, with `exact` and `error`.

    Raises:
        InvalidInputError: The encoding is unknown, both encoding and model are given, or the value
            is neither text nor messages.
    """
    chosen = _encoding(encoding, model)
    if isinstance(value, str):
        tokens, exact = _core.count_text(value, chosen)
        return TokenCount(tokens, exact=exact, error=0.0 if exact else _error(chosen))
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        found = type(value).__name__
        raise InvalidInputError(f"count_tokens: expected text or messages, found {found}")
    messages = accept([value] if isinstance(value, Mapping) else value)
    total = sum(message_tokens(messages, chosen)) + PER_REPLY
    total += extra_tokens(chosen, system=system, tools=tools)
    return TokenCount(total, exact=False, error=_error(chosen))


def message_tokens(messages: Sequence[Message], encoding: str) -> list[int]:
    """Count each message, with its overhead; a list's total is their sum and `PER_REPLY`.

    Args:
        messages: Messages of any dialect.
        encoding: The vocabulary.

    Returns:
        Tokens, one number a message.

    Raises:
        InvalidInputError: The encoding is unknown.
    """
    texts: list[str] = []
    fixed: list[int] = []
    ends: list[int] = []
    for message in messages:
        fixed.append(PER_MESSAGE + _gather(message, texts))
        ends.append(len(texts))
    counts = _core.count_texts(texts, encoding)
    starts = [0, *ends[:-1]]
    return [
        overhead + sum(counts[start:end])
        for overhead, start, end in zip(fixed, starts, ends, strict=False)
    ]


def extra_tokens(
    encoding: str,
    *,
    system: str | Sequence[Mapping[str, Any]] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> int:
    """Count what travels beside the messages.

    Args:
        encoding: The vocabulary.
        system: A system prompt: a text, or blocks.
        tools: Tool schemas, counted as compact JSON.

    Returns:
        Tokens.
    """
    total = 0
    if system:
        total += message_tokens([{"role": "system", "content": system}], encoding)[0]
    if tools:
        schema = json.dumps(list(tools), separators=(",", ":"), ensure_ascii=False, default=str)
        total += _core.count_text(schema, encoding)[0] + PER_CALL
    return total


def _gather(message: Message, texts: list[str]) -> int:
    """Collect the texts that are sent of a message; return the tokens of what is no text."""
    fixed = 0
    for key, value in message.items():
        if key in {"role", "tool_call_id"} or value is None:
            continue
        if key == "tool_calls" and isinstance(value, list):
            for call in value:
                fixed += PER_CALL
                inner = (
                    call.get("function") or call.get("custom") if isinstance(call, dict) else call
                )
                _walk(inner, texts)
        elif key == "content" and isinstance(value, list):
            fixed += sum(_part(part, texts) for part in value)
        else:
            _walk(value, texts)
    return fixed


def _part(part: Any, texts: list[str]) -> int:
    """Collect the texts of one part or block; return the tokens of what is no text."""
    if not isinstance(part, dict):
        _walk(part, texts)
        return 0
    block = cast("dict[str, Any]", part)
    kind = block.get("type")
    if kind in {"image", "image_url", "input_image"}:
        return PER_IMAGE
    if kind == "tool_result":
        content = block.get("content")
        if isinstance(content, list):
            return PER_CALL + sum(_part(inner, texts) for inner in content)
        _walk(content, texts)
        return PER_CALL
    if kind == "tool_use":
        _walk(block.get("name"), texts)
        texts.append(json.dumps(block.get("input"), separators=(",", ":"), ensure_ascii=False))
        return PER_CALL
    for key, value in block.items():
        if key not in _QUIET:
            _walk(value, texts)
    return 0


def _walk(value: Any, texts: list[str]) -> None:
    """Collect a value as it would be sent: a text as it is, anything else as compact JSON."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict) and _is_flat(cast("dict[str, Any]", value)):
        texts.extend(cast("dict[str, str]", value).values())
    elif value is not None:
        texts.append(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _is_flat(value: dict[str, Any]) -> bool:
    """Tell whether a value is a name and its text, as a function call or a text part is."""
    return len(value) <= 2 and all(isinstance(item, str) for item in value.values())  # noqa: PLR2004


def _encoding(encoding: str | None, model: str | None) -> str:
    if encoding is not None and model is not None:
        raise InvalidInputError("count_tokens: give an encoding or a model, not both")
    if model is not None:
        known = known_model(model)
        return known.encoding if known else "estimate"
    return "o200k_base" if encoding is None else encoding


def _error(encoding: str) -> float:
    return ESTIMATE_ERROR if encoding == "estimate" else FORMULA_ERROR
