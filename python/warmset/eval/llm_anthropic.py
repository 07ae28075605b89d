"""A model behind Anthropic's Messages API."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from warmset.embed.optional import extra

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST: Final = 1_024
"""Tokens of an answer at most; what is asked for is a few words."""


def completer(model: str) -> Callable[[str], str]:
    """Return what completes a prompt; retries are the SDK's.

    Args:
        model: The model's name.

    Raises:
        MissingExtraError: The extra `anthropic` is not installed.
    """
    with extra("anthropic"):
        sdk: Any = importlib.import_module("anthropic")
    client = sdk.Anthropic()

    def complete(prompt: str) -> str:
        made = client.messages.create(
            model=model, max_tokens=_MOST, messages=[{"role": "user", "content": prompt}]
        )
        return "".join(block.text for block in made.content if block.type == "text")

    return complete
