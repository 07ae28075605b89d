"""A call of a task with its context: the answer, and how sure the task is of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from warmset.compact.weights import is_number
from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.route.payload import Payload

R = TypeVar("R")

SURE: Final = 0.7
"""The confidence under which a task is called again with another payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Generic[R]):
    """What came of a call.

    Args:
        answer: What the task answered.
        confidence: How sure it is, 0 to 1.
        payload: What it was given for that answer.
        rerouted: Whether it was called a second time.
    """

    answer: R
    confidence: float
    payload: Payload
    rerouted: bool = False


def check_call(given: object) -> None:
    """Refuse a call that is no function.

    Raises:
        InvalidInputError: It is none.
    """
    if not callable(given):
        raise InvalidInputError(f"call: expected a function of a payload, found {given!r:.80}")


def answer_of(returned: tuple[R, float]) -> tuple[R, float]:
    """Return what a call returned: the answer, and how sure it is.

    Raises:
        InvalidInputError: It is something else.
    """
    try:
        answer, confidence = returned
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"call: expected an answer and a confidence as a tuple, found {returned!r:.80}"
        ) from None
    return answer, confidence_of(confidence)


def confidence_of(given: object, name: str = "confidence") -> float:
    """Return a confidence.

    Raises:
        InvalidInputError: It is no number from 0 to 1.
    """
    if not is_number(given) or not 0 <= given <= 1:
        raise InvalidInputError(f"{name}: expected 0 to 1, found {given!r:.80}")
    return float(given)


def same_items(one: Payload, other: Payload) -> bool:
    """Return whether two payloads have the same items."""
    names, others = (
        {item.memory_id for item in payload.context_payload} for payload in (one, other)
    )
    return names == others
