"""Models that read and judge: named on the command line, called with a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, ReaderError, WarmsetError
from warmset.lab.eval.plugins import load
from warmset.llm import Prompt
from warmset.llm.anthropic import AnthropicMessages
from warmset.llm.openai import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.llm import Model


def completer(spec: str) -> Callable[[str], str]:
    """Return what completes a prompt.

    Args:
        spec: "openai:model" or "anthropic:model", through their own SDKs and environment variables
            (key, base URL), or "module:callable", a function of a prompt that returns a text.

    Returns:
        A function that raises `ReaderError` whatever goes wrong.

    Raises:
        MissingExtraError: The SDK is not installed.
        InvalidInputError: The name is of none of these kinds, or the callable cannot be had.
        ReaderError: The SDK refused its configuration; no key is set, for example.
    """
    provider, _, model = spec.partition(":")
    if not model:
        raise InvalidInputError(
            f"expected openai:model, anthropic:model or module:callable, found {spec!r}"
        )
    return _guarded(spec, _inner(spec, provider, model))


def _inner(spec: str, provider: str, model: str) -> Callable[[str], object]:
    try:
        if provider == "openai":
            return _asker(OpenAIChat(model))
        if provider == "anthropic":
            return _asker(AnthropicMessages(model))
    except WarmsetError:
        raise
    except Exception as error:
        raise ReaderError(f"{spec} cannot be used: {error}") from error
    return load(spec)


def _asker(model: Model) -> Callable[[str], str]:
    # A cut or refused answer is an answer: it is scored as it is.
    return lambda prompt: model.ask(Prompt(prompt)).text


def _guarded(spec: str, inner: Callable[[str], object]) -> Callable[[str], str]:
    def complete(prompt: str) -> str:
        try:
            answer = inner(prompt)
        except Exception as error:
            raise ReaderError(
                f"{spec} failed: {error!r}; run the same command again, answers given with --json "
                "are kept"
            ) from error
        if not isinstance(answer, str):
            raise ReaderError(f"{spec}: expected a text, found {type(answer).__name__}")
        return answer.strip()

    return complete
