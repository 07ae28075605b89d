"""Pickers through the providers' own SDKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.llm import Providing, Settings
from warmset.llm.anthropic import AnthropicMessages
from warmset.llm.openai import OpenAIChat, OpenAIResponses
from warmset.options import MAX_PICKED
from warmset.pick.asking import TIMEOUT, Asking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_TOKENS: Final = 1_024
"""Tokens of an answer: a few ids, and what a model thinks before."""


class ProviderPicker(Providing, Asking):
    """Asks through an SDK, whose retries are its own; tokens are those of the provider's usage.

    Args:
        model: The model's name.
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        max_picked: Ids that it may return in a window that does not say how many.
        timeout: Seconds to wait for the model, retries included; a later answer is dropped.
        max_tokens: Tokens that an answer may have, reasoning included.
        strict: Whether the API is told the answer's JSON schema; models and servers that know of
            none refuse the request.
        options: Further fields of the request, as `{"reasoning_effort": "low"}`, over those that
            are made here; None leaves one out.

    Raises:
        MissingExtraError: The SDK is not installed.
        PickerError: The SDK refused its configuration; no key is set, for example.
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        max_picked: int = MAX_PICKED,
        timeout: float = TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        strict: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(max_picked=max_picked, timeout=timeout)
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=max_tokens,
            strict=strict,
            options=options,
        )
        self.connect(model, settings)


class OpenAIPicker(ProviderPicker):
    """Asks a model behind OpenAI's Chat Completions; the arguments are `ProviderPicker`'s."""

    MODEL = OpenAIChat


class OpenAIResponsesPicker(ProviderPicker):
    """Asks a model behind OpenAI's Responses; the arguments are `ProviderPicker`'s.

    Nothing is stored at the provider.
    """

    MODEL = OpenAIResponses


class AnthropicPicker(ProviderPicker):
    """Asks a model behind Anthropic's Messages; the arguments are `ProviderPicker`'s."""

    MODEL = AnthropicMessages


_KINDS: Final[dict[str, Callable[[str], ProviderPicker]]] = {
    "openai": OpenAIPicker,
    "openai-responses": OpenAIResponsesPicker,
    "anthropic": AnthropicPicker,
}


def picker_named(spec: str) -> ProviderPicker:
    """Return the picker of a name, as a command line has it.

    Args:
        spec: "openai:model", "openai-responses:model" or "anthropic:model"; keys and base URLs are
            in the SDK's environment variables.

    Raises:
        InvalidInputError: The name is none of these.
        MissingExtraError: The SDK is not installed.
        PickerError: The SDK refused its configuration; no key is set, for example.
    """
    kind, _, model = spec.partition(":")
    if kind not in _KINDS or not model:
        wanted = ", ".join(f"{one}:model" for one in _KINDS)
        raise InvalidInputError(f"picker: expected one of {wanted}, found {spec!r}")
    return _KINDS[kind](model)
