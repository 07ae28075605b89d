"""Token counts with their error, and the constants of the formulas."""

from __future__ import annotations

from typing import Any, Final, Self

PER_MESSAGE: Final = 4
"""Tokens around each message: role and separators (OpenAI's published formula, 3, and the role)."""

PER_NAME: Final = 1
"""Tokens that a message's `name` takes beside its text (OpenAI's published formula)."""

PER_REPLY: Final = 3
"""Tokens that prime the reply, once a list."""

PER_CALL: Final = 8
"""Tokens around each tool call or result: its type, id and separators."""

PER_IMAGE: Final = 1_100
"""Tokens of an image whose size is not known: between a small and a large one of all providers."""

PER_FILE: Final = 3_000
"""Tokens of a file whose content is not known: one page, the most that Anthropic states for one."""

FORMULA_ERROR: Final = 0.05
ESTIMATE_ERROR: Final = 0.30
MEDIA_ERROR: Final = 0.80
"""Relative errors that are stated: for formulas, for counts without a vocabulary, and for an image
of unknown size. A count is not below the exact number by more than this part of the exact one; an
estimate may be above it by more, as its rates are those of the least thrifty vocabulary."""


class TokenCount(int):
    """A number of tokens with its relative error.

    Attributes:
        exact: Whether it is exact: counted with a bundled vocabulary or by the provider.
        error: The stated relative error; 0 where it is exact.
    """

    exact: bool
    error: float

    def __new__(cls, tokens: int, *, exact: bool, error: float = 0.0) -> Self:
        """Make a count."""
        count = super().__new__(cls, tokens)
        count.exact = exact
        count.error = error
        return count

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (int(self), self.exact, self.error)


def _restore(tokens: int, exact: bool, error: float) -> TokenCount:  # noqa: FBT001
    return TokenCount(tokens, exact=exact, error=error)
