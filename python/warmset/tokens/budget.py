"""The token budget of a call's input: the model's window minus the call's own needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from warmset.errors import InvalidInputError

WATERMARK: Final = 0.7
"""The default share of the input at which compaction should begin."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The headroom of a model call: ``window - max_reply - safety - tool_reserve``.

    Args:
        window: The model's context window in tokens.
        max_reply: Tokens kept free for the reply.
        safety: Tokens kept free because counts by formulas are estimates.
        tool_reserve: Tokens kept free for tool schemas that are not passed to warmset.
        watermark: The share of the input at which compaction should begin, above 0 and below 1.

    Raises:
        InvalidInputError: Nothing is left for input, or the watermark is not below the budget.
    """

    window: int
    max_reply: int = 4_096
    safety: int = 2_048
    tool_reserve: int = 8_192
    watermark: float = WATERMARK

    def __post_init__(self) -> None:
        for name in ("window", "max_reply", "safety", "tool_reserve"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidInputError(
                    f"budget: {name} must be a number of tokens, found {value!r}"
                )
        if isinstance(self.watermark, bool) or not isinstance(self.watermark, (int, float)):
            raise InvalidInputError(f"budget: watermark must be a share, found {self.watermark!r}")
        reserves = (self.max_reply, self.safety, self.tool_reserve)
        if min(reserves) < 0:
            raise InvalidInputError(f"budget: reserves must not be negative, found {reserves}")
        if self.input <= 0:
            raise InvalidInputError(
                f"budget: a window of {self.window} leaves {self.input} tokens for input; "
                "lower max_reply, safety or tool_reserve"
            )
        if not 0 < self.watermark < 1:
            raise InvalidInputError(
                f"budget: watermark must lie above 0 and below 1, found {self.watermark}"
            )

    @property
    def input(self) -> int:
        """The most tokens that the input may have."""
        return self.window - self.max_reply - self.safety - self.tool_reserve


def input_tokens(budget: int | Budget) -> int:
    """Return the tokens of a budget that is given as a number or as a `Budget`.

    Args:
        budget: Tokens of input, or a `Budget`.

    Returns:
        Tokens that the input may have.

    Raises:
        InvalidInputError: It is neither, or not positive.
    """
    if isinstance(budget, Budget):
        return budget.input
    if isinstance(budget, bool) or not isinstance(budget, int) or budget <= 0:
        raise InvalidInputError(
            f"budget: expected a positive number of tokens or a Budget, found {budget!r}"
        )
    return budget
