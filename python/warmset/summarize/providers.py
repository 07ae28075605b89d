"""Summarizers through the providers' own SDKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset.llm import Providing, Settings
from warmset.llm.anthropic import AnthropicMessages
from warmset.llm.openai import OpenAIChat, OpenAIResponses
from warmset.summarize.asking import MAX_PROMPTS, PROMPT_TOKENS, TIMEOUT, AskingSummarizer

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TOKENS: Final = 8_192
"""Tokens of an answer: a summary, and what a model thinks before."""


class ProviderSummarizer(Providing, AskingSummarizer):
    """Asks through an SDK, whose retries are its own; tokens are those of the provider's usage.

    Args:
        model: The model's name.
        base_url: Where the server is; the SDK's default if not given.
        api_key: The SDK's default, an environment variable, if not given.
        client: A synchronous client to use instead of a new one; excludes the two above.
        timeout: Seconds to wait for the model, retries and all parts included.
        max_tokens: Tokens that an answer may have, reasoning included; one that is cut there is
            refused.
        prompt_tokens: Tokens of turns in one prompt.
        max_prompts: Prompts that one summary may take.
        options: Further fields of the request, as `{"reasoning_effort": "low"}`, over those that
            are made here; None leaves one out.

    Raises:
        MissingExtraError: The SDK is not installed.
        SummarizerError: The SDK refused its configuration; no key is set, for example.
        InvalidInputError: An option is out of its range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        timeout: float = TIMEOUT,
        max_tokens: int = MAX_TOKENS,
        prompt_tokens: int = PROMPT_TOKENS,
        max_prompts: int = MAX_PROMPTS,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(timeout=timeout, prompt_tokens=prompt_tokens, max_prompts=max_prompts)
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=max_tokens,
            options=options,
        )
        self.connect(model, settings)


class OpenAISummarizer(ProviderSummarizer):
    """Asks a model behind OpenAI's Chat Completions; the arguments are `ProviderSummarizer`'s."""

    MODEL = OpenAIChat


class OpenAIResponsesSummarizer(ProviderSummarizer):
    """Asks a model behind OpenAI's Responses; the arguments are `ProviderSummarizer`'s.

    Nothing is stored at the provider.
    """

    MODEL = OpenAIResponses


class AnthropicSummarizer(ProviderSummarizer):
    """Asks a model behind Anthropic's Messages; the arguments are `ProviderSummarizer`'s."""

    MODEL = AnthropicMessages
