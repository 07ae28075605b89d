"""Why a request goes to its provider as it came, for logs and headers."""

from __future__ import annotations

from warmset.errors.base import WarmsetError
from warmset.errors.input import BudgetTooSmall, InvalidInputError


def reason_of(error: Exception) -> str:
    """Return why no window was made, in a word that has nothing of a request's content."""
    if isinstance(error, BudgetTooSmall):
        return "budget_too_small"
    if isinstance(error, InvalidInputError):
        return "not_understood"
    if isinstance(error, WarmsetError):
        return type(error).__name__
    return "error"
