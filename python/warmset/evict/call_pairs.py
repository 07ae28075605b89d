"""Answered tool calls of a list, each with its result."""

from __future__ import annotations

from collections import deque
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
    """Return every answered call, in the order of the calls.

    As in units, a result belongs to the latest message that has a call of its id without a result;
    in that message, to the first such call.
    """
    pairs: list[CallPair] = []
    waiting: dict[str, list[deque[tuple[Use, tuple[int, int]]]]] = {}
    for at, message in enumerate(view.messages):
        if view.facts[at].results:
            for place, answer in enumerate(view.tools.answers(message)):
                if callers := waiting.get(answer.id):
                    use, called = callers[-1].popleft()
                    pairs.append(CallPair(use, called, answer, (at, place)))
                    if not callers[-1]:
                        callers.pop()
        if view.facts[at].calls:
            fresh: dict[str, deque[tuple[Use, tuple[int, int]]]] = {}
            for place, use in enumerate(view.tools.uses(message)):
                fresh.setdefault(use.id, deque()).append((use, (at, place)))
            for name, calls in fresh.items():
                waiting.setdefault(name, []).append(calls)
    return sorted(pairs, key=lambda pair: pair.called)
