"""A model behind OpenAI's Chat API, or any server that speaks it (`OPENAI_BASE_URL`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.embed.optional import extra

if TYPE_CHECKING:
    from collections.abc import Callable


def completer(model: str) -> Callable[[str], str]:
    """Return what completes a prompt; retries are the SDK's.

    Args:
        model: The model's name.

    Raises:
        MissingExtraError: The extra `openai` is not installed.
    """
    with extra("openai"):
        import openai  # noqa: PLC0415 - an extra
    client = openai.OpenAI()

    def complete(prompt: str) -> str:
        made = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": prompt}]
        )
        return made.choices[0].message.content or ""

    return complete
