"""A model behind a function of the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from warmset.llm.base import Prompt


class FunctionModel:
    """Asks a function of a text, which may be a coroutine function.

    Args:
        complete: Takes a prompt and returns the model's text, or an awaitable of it.

    Raises:
        InvalidInputError: It cannot be called.
    """

    def __init__(self, complete: Callable[[str], str] | Callable[[str], Awaitable[str]]) -> None:
        if not callable(complete):
            raise InvalidInputError(f"complete: expected a function, found {complete!r}")
        self._complete = complete

    def ask(self, prompt: Prompt, *, timeout: float | None = None) -> Any:
        """Return what the function returns, whatever that is."""
        del timeout
        return self._complete(prompt.text)

    def close(self) -> None:
        """Do nothing: there is no client."""
