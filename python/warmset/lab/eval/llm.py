"""Models that read and judge: named on the command line, called with a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.errors import InvalidInputError, ReaderError
from warmset.lab.eval.plugins import load
from warmset.llm import PROVIDERS, Prompt, connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.llm import Model


def completer(spec: str) -> Callable[[str], str]:
    """Return what completes a prompt.

    Args:
        spec: "openai:model", "openai-responses:model" or "anthropic:model", through their own SDKs
            and environment variables (key, base URL), or "module:callable", a function of a prompt
            that returns a text.

    Returns:
        A function that raises `ReaderError` whatever goes wrong.

    Raises:
        MissingExtraError: The SDK is not installed.
        InvalidInputError: The name is of none of these kinds, or the callable cannot be had.
        ReaderError: The SDK refused its configuration; no key is set, for example.
    """
    provider, _, model = spec.partition(":")
    if not model:
        wanted = ", ".join(f"{one}:model" for one in PROVIDERS)
        raise InvalidInputError(f"expected {wanted} or module:callable, found {spec!r}")
    if provider in PROVIDERS:
        return _guarded(spec, _asker(connected(provider, model, by=spec, failure=ReaderError)))
    return _guarded(spec, load(spec))


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
