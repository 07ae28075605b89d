"""Retries after a provider rejects an input as too long, with a smaller budget each time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from warmset.errors import InvalidInputError
from warmset.evict.policies import at_least
from warmset.tokens.budget import input_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from warmset.tokens.budget import Budget

T = TypeVar("T")

STEP: Final = 0.10
"""The share of the budget that is given up after each rejection."""

ATTEMPTS: Final = 5
"""How often a call is retried after a rejection."""

_CODES: Final = frozenset(
    {"context_length_exceeded", "request_too_large", "string_above_max_length"}
)
_TOO_LARGE: Final = 413
_MOST: Final = 1 << 53
_TOLD: Final = re.compile(
    r"maximum context length"
    r"|context.{0,10}(length|window|limit|size).{0,40}(exceed|too (long|large))"
    r"|exceed.{0,60}(context|max(imum)? (number of )?(input )?tokens|token limit)"
    r"|prompt is too long|prompt too long|input is too long|too many (input )?tokens"
    r"|input token count|reduce the length|context_length_exceeded",
    re.IGNORECASE | re.DOTALL,
)


def is_overflow(error: BaseException) -> bool:
    """Return whether an error of a provider's SDK means that the input is too long.

    It checks the code, the status and the wording that OpenAI, Anthropic, Gemini and compatible
    servers use; no SDK is imported.

    Args:
        error: The exception that the call raised.
    """
    codes = [getattr(error, "code", None), getattr(error, "type", None)]
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            codes += [inner.get("code"), inner.get("type")]
    if any(isinstance(code, str) and code in _CODES for code in codes):
        return True
    status = getattr(error, "status_code", None)
    return status == _TOO_LARGE or bool(_TOLD.search(str(error)))


def retry_on_overflow(
    call: Callable[[int], T],
    *,
    budget: int | Budget,
    attempts: int = ATTEMPTS,
    step: float = STEP,
    overflow: Callable[[BaseException], bool] = is_overflow,
) -> T:
    """Make a call, and retry it with a smaller budget each time that the input is too long.

    Args:
        call: Builds the window for a budget in tokens and calls the provider.
        budget: The budget of the first try, in tokens, or a `Budget`.
        attempts: The most retries.
        step: The share of the budget that is given up each time.
        overflow: Returns whether an error means that the input is too long.

    Returns:
        The result of the call.

    Raises:
        InvalidInputError: An option is out of its range.
        Exception: The call's own exception, if it is not an overflow or after the last try.
    """
    for left, tokens in _tries(call, budget, attempts, step):
        try:
            return call(tokens)
        except Exception as error:
            if not left or not overflow(error):
                raise
    raise AssertionError("unreachable: the last try returns or raises")


async def aretry_on_overflow(
    call: Callable[[int], Awaitable[T]],
    *,
    budget: int | Budget,
    attempts: int = ATTEMPTS,
    step: float = STEP,
    overflow: Callable[[BaseException], bool] = is_overflow,
) -> T:
    """The asynchronous `retry_on_overflow`: the same arguments, result and errors."""
    for left, tokens in _tries(call, budget, attempts, step):
        try:
            return await call(tokens)
        except Exception as error:
            if not left or not overflow(error):
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _tries(call: object, budget: int | Budget, attempts: int, step: float) -> list[tuple[int, int]]:
    """Return the budget of every try, each with the number of tries left after it."""
    if not callable(call):
        raise InvalidInputError(f"call: expected a function of a budget, found {call!r}")
    tokens = input_tokens(budget)
    if tokens > _MOST:
        raise InvalidInputError(f"budget: expected at most {_MOST} tokens")
    at_least("attempts", attempts, 0)
    if isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 < step < 1:
        raise InvalidInputError(f"step: must lie above 0 and below 1, found {step!r}")
    return [(attempts - at, max(int(tokens * (1 - step) ** at), 1)) for at in range(attempts + 1)]
