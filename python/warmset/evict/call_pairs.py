"""Answered tool calls of a list, each with its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warmset.evict.view import View
    from warmset.messages import Answer, Use


@dataclass(frozen=True, slots=True)
class CallPair:
    """A call and its result.

    Args:
        use: The call.
        called: The position of its message, and its place among the calls of that message.
        answer: The result.
        answered: The position of the result's message, and its place among the results of that.
    """

    use: Use
    called: tuple[int, int]
    answer: Answer
    answered: tuple[int, int]


def call_pairs(view: View) -> list[CallPair]:
    """Return every answered call, in the order of the calls."""
    pairs: list[CallPair] = []
    waiting: dict[str, list[tuple[Use, tuple[int, int]]]] = {}
    for at, message in enumerate(view.messages):
        if view.facts[at].results:
            for place, answer in enumerate(view.tools.answers(message)):
                if calls := waiting.get(answer.id):
                    use, called = calls.pop(0)
                    pairs.append(CallPair(use, called, answer, (at, place)))
        if view.facts[at].calls:
            fresh: dict[str, list[tuple[Use, tuple[int, int]]]] = {}
            for place, use in enumerate(view.tools.uses(message)):
                fresh.setdefault(use.id, []).append((use, (at, place)))
            waiting |= fresh  # if an id is used again, the result belongs to the later call
    return sorted(pairs, key=lambda pair: pair.called)
