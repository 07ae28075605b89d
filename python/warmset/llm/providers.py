"""The providers, each named and written once: who asks a model, asks it through these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.errors import WarmsetError
from warmset.llm.anthropic import AnthropicMessages
from warmset.llm.openai import OpenAIChat, OpenAIResponses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.llm.base import Connected, Settings

PROVIDERS: Final[Mapping[str, type[Connected]]] = {
    "openai": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
}
"""What a command line calls them, too."""


def connected(
    provider: str,
    model: str,
    settings: Settings | None = None,
    *,
    by: str,
    failure: type[WarmsetError],
) -> Connected:
    """Connect to a provider's model.

    Args:
        provider: One of `PROVIDERS`.
        model: The model's name.
        settings: How the SDK is used.
        by: Who asks, as an error names it.
        failure: What is raised where the SDK refuses its configuration.

    Raises:
        MissingExtraError: The SDK is not installed.
        InvalidInputError: The client is of another kind.
        WarmsetError: The SDK refused its configuration; what `failure` says.
    """
    try:
        return PROVIDERS[provider](model, settings)
    except WarmsetError:
        raise
    except Exception as error:
        raise failure(f"{by} cannot be used: {error}") from error
