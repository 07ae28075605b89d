"""Gemini contents: the calls and responses inside of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset.messages.codec import encode
from warmset.messages.gemini import parts as p
from warmset.messages.gemini.grammar import say_response
from warmset.messages.model import Answer, Message, Use

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


def uses(message: Message) -> list[Use]:
    """Return the tool calls of a message; see `Tools`."""
    return [
        Use(p.label(call), call["name"], encode(call.get("args") or {}))
        for call in p.calls(message)
    ]


def answers(message: Message) -> list[Answer]:
    """Return the tool results of a message; see `Tools`."""
    return [
        Answer(p.label(found), say_response(found), failed=_is_error(found))
        for found in p.responses(message)
    ]


def _is_error(found: Message) -> bool:
    response = found.get("response")
    return isinstance(response, dict) and "error" in response and "output" not in response


def with_answers(message: Message, texts: Mapping[int, str]) -> Message:
    """Return a copy in which some results say another text; see `Tools`.

    The files of such a response leave with what it said.
    """

    def other(count: int, found: Message) -> Message:
        if count not in texts:
            return found
        return p.without(found, "parts") | {"response": {"output": texts[count]}}

    return _replaced(message, p.RESPONSE, other)


def without_inputs(message: Message, calls: Collection[int]) -> Message:
    """Return a copy in which some calls have empty arguments; see `Tools`."""

    def other(count: int, found: Message) -> Message:
        return found | {"args": {}} if count in calls else found

    return _replaced(message, p.CALL, other)


def _replaced(message: Message, name: str, other: Callable[[int, Message], Message]) -> Message:
    """Return a copy in which every part with that field has what the function makes of it."""
    content: list[Message] = []
    count = 0
    for part in p.parts(message):
        found = p.get(part, name)
        if found is None:
            content.append(part)
        else:
            content.append(p.put(part, name, other(count, found)))
            count += 1
    return message if not count else message | {"parts": content}
