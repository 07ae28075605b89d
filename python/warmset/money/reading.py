"""Reads what a provider says that a request took: its usage, and what it did to the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from warmset.errors import InvalidInputError

_WHOLE: Final = ("usage", "usage_metadata", "usageMetadata")
"""Where a response has its usage."""


@dataclass(frozen=True, slots=True)
class Metered:
    """The tokens of one request, each counted once.

    Args:
        fresh: Tokens of input that were neither read from the cache nor written to it.
        cached: Tokens that were read from the cache.
        written: Tokens that were written to the cache.
        output: Tokens of the reply, thinking included.
        written_long: Further tokens that were written with the longer lifetime.
        model: The model that took them, where the provider names it; else empty.
    """

    fresh: int
    cached: int = 0
    written: int = 0
    output: int = 0
    written_long: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class Transformation:
    """A block of thinking or reasoning of the input that failed a provider's check.

    Args:
        place: The block: its path in the messages ("messages.3.content.0"), or the item's id.
        reason: The provider's reason, as "prefix_mismatch".
        removed: Whether the model did not get it; False if the provider only reports it.
    """

    place: str
    reason: str
    removed: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a response says about itself.

    Args:
        requests: The requests that were billed: one, or several where the provider made more.
        transformations: Blocks of thinking or reasoning that failed a check.
        model: The model that replied; empty if the response does not name it.
    """

    requests: tuple[Metered, ...]
    transformations: tuple[Transformation, ...] = ()
    model: str = ""


def read_usage(given: object) -> Reading:
    """Read a provider's usage, or the response that has it.

    Args:
        given: An SDK's object, or the same as a dict: the usage of OpenAI Chat Completions or
            Responses, Anthropic Messages, Gemini, Gemini Interactions or LangChain, or the whole
            response.

    Raises:
        InvalidInputError: It is neither, or a number of tokens is not one.
    """
    usage: object = given
    for name in _WHOLE:
        if (found := _get(given, name)) is not None:
            usage = found
            break
    named = "" if usage is given else _get(given, "model") or _get(given, "model_version")
    model = named if isinstance(named, str) else ""
    changes = () if usage is given else _transformations(_get(given, "input_transformations"))
    return Reading(_requests(usage), changes, model)


def _requests(usage: object) -> tuple[Metered, ...]:
    if _get(usage, "prompt_tokens") is not None:
        return (_including(usage, "prompt", "completion"),)
    if _get(usage, "input_tokens_details") is not None:
        return (_including(usage, "input", "output"),)
    if _get(usage, "input_token_details") is not None:
        return (_langchain(usage),)
    if _get(usage, "input_tokens") is not None:
        return _anthropic(usage)
    if _get(usage, "total_input_tokens") is not None:
        return (
            _gemini(
                usage,
                ("total_input_tokens", "total_tool_use_tokens"),
                "total_cached_tokens",
                ("total_output_tokens", "total_thought_tokens"),
            ),
        )
    for prompt, tool, cached, reply, thought in (
        (
            "prompt_token_count",
            "tool_use_prompt_token_count",
            "cached_content_token_count",
            "candidates_token_count",
            "thoughts_token_count",
        ),
        (
            "promptTokenCount",
            "toolUsePromptTokenCount",
            "cachedContentTokenCount",
            "candidatesTokenCount",
            "thoughtsTokenCount",
        ),
    ):
        if _get(usage, prompt) is not None:
            return (_gemini(usage, (prompt, tool), cached, (reply, thought)),)
    raise InvalidInputError(
        "usage: expected the usage of OpenAI, Anthropic or Gemini, or a response that has one, "
        f"found {usage!r:.120}; pass response, or response.usage"
    )


def _including(usage: object, came: str, went: str) -> Metered:
    """Read a usage of OpenAI's, whose input includes what the cache had and what it took up."""
    details = _get(usage, f"{came}_tokens_details")
    total = _count(usage, f"{came}_tokens")
    cached = min(_count(details, "cached_tokens"), total)
    written = min(_count(details, "cache_write_tokens"), total - cached)
    long = _count(_get(details, "cache_write_tokens_details"), "ttl_12h_tokens")
    long = min(long, written)
    return Metered(
        total - cached - written,
        cached,
        written - long,
        _count(usage, f"{went}_tokens"),
        long,
    )


def _langchain(usage: object) -> Metered:
    """Read a usage of LangChain's, which is the same for every provider."""
    details = _get(usage, "input_token_details")
    total = _count(usage, "input_tokens")
    cached = min(_count(details, "cache_read"), total)
    written = min(_count(details, "cache_creation"), total - cached)
    return Metered(total - cached - written, cached, written, _count(usage, "output_tokens"))


def _anthropic(usage: object) -> tuple[Metered, ...]:
    """Read a usage of Anthropic's: what the cache had or took up is not in `input_tokens`.

    The figures at the top are the sum of the model's own requests. Those of a compaction and of an
    advisor are only among the iterations, so they are added. Where the model's own iterations make
    up the figures at the top, each is a request of its own, because long requests cost more.
    """
    top = _exclusive(usage)
    iterations = _get(usage, "iterations")
    if not isinstance(iterations, (list, tuple)):
        return (top,)
    own: list[Metered] = []
    more: list[Metered] = []
    for one in iterations:
        kind = _get(one, "type")
        (own if kind in ("message", "fallback_message") else more).append(_exclusive(one))
    sums = [sum(tokens) for tokens in zip(*map(_tokens, own), strict=True)]
    return (*(own if sums == _tokens(top) else [top]), *more)


def _exclusive(usage: object) -> Metered:
    written = _count(usage, "cache_creation_input_tokens")
    long = min(_count(_get(usage, "cache_creation"), "ephemeral_1h_input_tokens"), written)
    model = _get(usage, "model")
    return Metered(
        _count(usage, "input_tokens"),
        _count(usage, "cache_read_input_tokens"),
        written - long,
        _count(usage, "output_tokens"),
        long,
        model if isinstance(model, str) else "",
    )


def _tokens(one: Metered) -> list[int]:
    return [one.fresh, one.cached, one.written, one.output, one.written_long]


def _gemini(usage: object, came: tuple[str, ...], cached: str, went: tuple[str, ...]) -> Metered:
    """Read a usage of Google's: the prompt includes what the cache had, the reply no thoughts."""
    total = sum(_count(usage, name) for name in came)
    had = min(_count(usage, cached), total)
    return Metered(total - had, had, output=sum(_count(usage, name) for name in went))


def _transformations(given: object) -> tuple[Transformation, ...]:
    if not isinstance(given, (list, tuple)):
        return ()
    return tuple(
        Transformation(
            place=str(_get(one, "path") or _get(one, "id") or ""),
            reason=str(_get(one, "reason") or ""),
            removed="removed" in (action := str(_get(one, "action") or _get(one, "type")))
            or "dropped" in action,
        )
        for one in given
    )


def _get(given: object, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def _count(given: object, name: str) -> int:
    value = _get(given, name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"usage: {name}: expected a number of tokens, found {value!r:.80}")
    return value
