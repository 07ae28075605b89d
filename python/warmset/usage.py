"""What asking a model took: tokens and time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What asking a model took.

    Args:
        input: Tokens of the prompt.
        output: Tokens of the answer, reasoning included.
        milliseconds: How long it took.
        estimated: Whether the tokens were counted here, because nobody reported them.
    """

    input: int
    output: int
    milliseconds: float = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input + self.output
