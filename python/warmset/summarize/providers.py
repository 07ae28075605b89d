"""Summarizers through the providers' own SDKs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from warmset.errors import SummarizerError
from warmset.llm import Asker, Settings, Terms, connected
from warmset.messages.prefix import plain_name
from warmset.summarize.asking import MAX_PROMPTS, PROMPT_TOKENS, TIMEOUT, Parts, Writer
from warmset.summarize.on_prefix import OnPrefix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warmset.llm import ListRequest
    from warmset.messages import Dialect, Message
    from warmset.summarize.base import Summarizer, SummaryReply

MAX_TOKENS: Final = 8_192
"""Tokens of an answer: a summary, and what a model thinks before."""


class ProviderSummarizer:
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
        instructions: Your instructions for every summary; see `LLMSummarizer`.
        options: Further fields of the request, as `{"reasoning_effort": "low"}`, over those that
            are made here; None leaves one out.
        on_prefix: Whether windows of mode "steady" for the same model have it asked behind the
            conversation's own list, as it was sent, with one instruction added: the provider then
            reads the list from its cache. Elsewhere the messages are quoted in a prompt.

    Raises:
        MissingExtraError: The SDK is not installed.
        SummarizerError: The SDK refused its configuration; no key is set, for example.
        InvalidInputError: An option is out of its range.
    """

    _PROVIDER: ClassVar[str]
    _DIALECT: ClassVar[Dialect]

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
        instructions: str | None = None,
        options: Mapping[str, Any] | None = None,
        on_prefix: bool = False,
    ) -> None:
        terms = Terms(failure=SummarizerError, timeout=timeout)
        parts = Parts(prompt_tokens=prompt_tokens, max_prompts=max_prompts)
        settings = Settings(
            base_url=base_url,
            api_key=api_key,
            client=client,
            max_tokens=max_tokens,
            options=options,
        )
        by = type(self).__name__
        one = connected(self._PROVIDER, model, settings, by=by, failure=SummarizerError)
        self._asker = Asker(one, terms)
        self._writer = Writer(self._asker, parts, instructions)
        self._model, self._instructions = model, instructions
        self._on_prefix = bool(on_prefix)

    def behind(self, request: ListRequest) -> Summarizer | None:
        """Return a summarizer of a list that is asked behind it; None if it is not to be.

        Args:
            request: The list.
        """
        same = plain_name(request.model) == plain_name(self._model)
        if not self._on_prefix or not same or request.dialect != self._DIALECT:
            return None
        return OnPrefix(self._asker, request, self._instructions, type(self).__name__)

    @property
    def fingerprint(self) -> str:
        """Identifies its summaries in a store; see `LLMSummarizer`."""
        return self._writer.fingerprint(self)

    def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        max_tokens: int,
        previous: str | None = None,
        focus: str | None = None,
    ) -> SummaryReply:
        """Summarise messages; see `LLMSummarizer`."""
        return self._writer.write(messages, max_tokens=max_tokens, previous=previous, focus=focus)

    def close(self) -> None:
        """Close the client, unless it was given; a `with` block does it too."""
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class OpenAISummarizer(ProviderSummarizer):
    """Asks a model behind OpenAI's Chat Completions; the arguments are `ProviderSummarizer`'s."""

    _PROVIDER = "openai"
    _DIALECT = "openai"


class OpenAIResponsesSummarizer(ProviderSummarizer):
    """Asks a model behind OpenAI's Responses; the arguments are `ProviderSummarizer`'s.

    Nothing is stored at the provider.
    """

    _PROVIDER = "openai-responses"
    _DIALECT = "responses"


class AnthropicSummarizer(ProviderSummarizer):
    """Asks a model behind Anthropic's Messages; the arguments are `ProviderSummarizer`'s."""

    _PROVIDER = "anthropic"
    _DIALECT = "anthropic"
