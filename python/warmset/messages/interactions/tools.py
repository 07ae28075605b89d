"""Gemini Interactions: the function calls and results, of which a step is at most one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.codec import encode
from warmset.messages.interactions import said
from warmset.messages.interactions.kinds import call_of, result_of
from warmset.messages.model import Answer, Message, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def uses(message: Message) -> list[Use]:
    """Return the function call that a step is; see `Tools`."""
    call = call_of(message)
    return [] if call is None else [Use(call, message["name"], encode(message["arguments"]))]


def answers(message: Message) -> list[Answer]:
    """Return the result that a step is; see `Tools`."""
    result = result_of(message)
    return [] if result is None else [Answer(result, said.text(message))]


def with_answers(message: Message, texts: Mapping[int, str]) -> Message:
    """Return a copy in which a result says another text; see `Tools`."""
    if 0 not in texts or result_of(message) is None:
        return dict(message)
    return {**message, "result": texts[0]}


def without_inputs(message: Message, calls: Collection[int]) -> Message:
    """Return a copy in which a call has empty arguments; see `Tools`."""
    if 0 not in calls or call_of(message) is None:
        return dict(message)
    return {**message, "arguments": {}}
