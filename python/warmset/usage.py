"""The tokens and the time that a model call took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens and the time that a model call took.

    Args:
        input: Tokens of the prompt.
        output: Tokens of the answer, reasoning included.
        milliseconds: How long the call took.
        estimated: Whether warmset counted the tokens, because the provider reported none.
    """

    input: int
    output: int
    milliseconds: float = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input + self.output
