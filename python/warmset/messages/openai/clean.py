"""What a mender does to single Chat messages, before it looks at calls and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.codec import encode
from warmset.messages.mending import Change
from warmset.messages.names import person, plain
from warmset.messages.openai.grammar import body_of
from warmset.messages.openai.rules import (
    ARGUMENTS,
    INSTRUCTING,
    NAME,
    PERSON,
    SPEAKING,
    fits,
    says_something,
)
from warmset.messages.text import kind_of

if TYPE_CHECKING:
    from warmset.messages.model import Message

_LONGEST = 64


def clean(messages: list[Message], changes: list[Change]) -> list[tuple[int, Message]]:
    """Mend what can be seen in one message alone, and the word for instructions (C4, C5, C7, C8).

    Args:
        messages: Well-formed messages.
        changes: Where what was changed is added.

    Returns:
        The messages that stay, each with its position; the same objects where nothing was wrong.
    """
    kept: list[tuple[int, Message]] = []
    word: str | None = None
    for index, given in enumerate(messages):
        message = given
        if message["role"] in INSTRUCTING:
            word = word or message["role"]
            if message["role"] != word:
                changes.append(Change("C8", index, f"the role became {word!r}"))
                message = {**message, "role": word}
        message = _with_names(message, index, changes)
        filled = _with_content(message, index, changes)
        if filled is not None:
            kept.append((index, filled))
    return kept


def _with_content(message: Message, index: int, changes: list[Change]) -> Message | None:
    content = message.get("content")
    role = message["role"]
    if isinstance(content, list):
        fitting = [part for part in content if fits(part, role)]
        changes += [
            Change("C7", index, f"the {part['type']!r} part left, which a {role} message has not")
            for part in content
            if not fits(part, role)
        ]
        if len(fitting) < len(content):
            message = {**message, "content": fitting}
        if not fitting:
            emptied = _without_content(message, role)
            what = "the message had nothing in it and left" if emptied is None else "no content"
            changes.append(Change("C7", index, what))
            return emptied
    if message.get("tool_calls") == []:
        changes.append(Change("C4", index, "the empty tool_calls left"))
        message = {key: value for key, value in message.items() if key != "tool_calls"}
    if role == "assistant" and not says_something(message):
        changes.append(Change("C4", index, "the message said nothing and left"))
        return None
    return message


def _without_content(message: Message, role: str) -> Message | None:
    """Return the message with an empty list as its content as it may stand, None where it may not.

    A result stays, for its call needs one.
    """
    if role in ("tool", "function"):
        return {**message, "content": ""}
    bare = {**message, "content": None}
    if bare.get("tool_calls") == []:
        del bare["tool_calls"]
    return bare if role == "assistant" and says_something(bare) else None


def _with_names(message: Message, index: int, changes: list[Change]) -> Message:
    """Give calls, and who answers them, names and arguments that may stand (C5)."""
    role, named = message["role"], message.get("name")
    if role in SPEAKING and isinstance(named, str) and not PERSON.fullmatch(named):
        fresh = person(named) or "_"
        changes.append(Change("C5", index, f"the name {named!r:.80} became {fresh!r}"))
        message = {**message, "name": fresh}
    if role == "function" and not NAME.fullmatch(message["name"]):
        return {**message, "name": _named(message["name"], index, changes)}
    if role != "assistant":
        return message
    calls = message.get("tool_calls")
    if calls:
        mended = [_with_name(call, index, changes) for call in calls]
        if any(one is not other for one, other in zip(mended, calls, strict=True)):
            message = {**message, "tool_calls": mended}
    legacy = message.get("function_call")
    if legacy is not None:
        body = _body(legacy, "arguments", index, changes)
        if body is not legacy:
            message = {**message, "function_call": body}
    return message


def _with_name(call: dict[str, Any], index: int, changes: list[Change]) -> dict[str, Any]:
    kind = kind_of(call) or "function"
    if kind not in ARGUMENTS:
        return call
    given = body_of(call)
    body = _body(given, ARGUMENTS[kind], index, changes)
    return call if body is given else {**call, kind: body}


def _body(body: dict[str, Any], key: str, index: int, changes: list[Change]) -> dict[str, Any]:
    given = body.get(key)
    if not isinstance(given, str):
        empty = "" if key == "input" else "{}"
        changes.append(Change("C5", index, f"{key} of {body['name']!r:.80} became a string"))
        body = {**body, key: empty if given is None else encode(given)}
    if not NAME.fullmatch(body["name"]):
        body = {**body, "name": _named(body["name"], index, changes)}
    return body


def _named(name: str, index: int, changes: list[Change]) -> str:
    fresh = plain(name, _LONGEST)
    changes.append(Change("C5", index, f"the name {name!r:.80} became {fresh!r}"))
    return fresh
