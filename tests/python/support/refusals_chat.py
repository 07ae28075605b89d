"""What OpenAI Chat Completions refuses; see `refusals.py`.

https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create
https://developers.openai.com/api/docs/guides/function-calling?api-mode=chat
"""

from __future__ import annotations

import re

PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
    "function": set(),
}
PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}")
TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refusals(messages, _sent):
    if not messages:
        return ["[] is too short - 'messages'"]
    alone = [why for at, one in enumerate(messages) for why in _message(f"messages[{at}]", one)]
    return alone or list(_order(messages))


def _message(where, message):
    role = message.get("role")
    if role not in PARTS:
        yield f"Invalid value: {role!r} at '{where}.role'"
        return
    if "name" in message and role != "function" and not PARTICIPANT.fullmatch(message["name"]):
        yield f"Invalid '{where}.name': string does not match pattern"
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield f"Missing parameter '{where}.tool_call_id'"
    if role == "function" and not TOOL.fullmatch(message.get("name") or ""):
        yield f"Missing parameter '{where}.name'"
    yield from _content(where, role, message)
    yield from _calls(where, message)


def _content(where, role, message):
    content = message.get("content")
    if isinstance(content, list):
        if not content:
            yield f"Invalid '{where}.content': empty array"
        for at, part in enumerate(content):
            if part.get("type") not in PARTS[role]:
                yield f"Invalid '{where}.content[{at}]': {part.get('type')!r} not for {role!r}"
    elif content is None:
        spoken = ("tool_calls", "function_call", "refusal", "audio")
        says = role == "assistant" and any(message.get(key) for key in spoken)
        if role != "function" and not says:
            yield f"Invalid value for '{where}.content': expected a string, got null"
    elif not isinstance(content, str):
        yield f"Invalid type for '{where}.content'"


def _calls(where, message):
    if message.get("tool_calls") == []:
        yield f"Invalid '{where}.tool_calls': empty array. Expected an array with minimum length 1"
    for at, call in enumerate(message.get("tool_calls") or ()):
        kind = call.get("type")
        if kind not in ("function", "custom"):
            yield f"Invalid value: {kind!r} at '{where}.tool_calls[{at}].type'"
            continue
        body, field = call.get(kind) or {}, "arguments" if kind == "function" else "input"
        yield from _body(f"{where}.tool_calls[{at}].{kind}", body, field)
    if message.get("function_call") is not None:
        yield from _body(f"{where}.function_call", message["function_call"], "arguments")


def _body(where, body, field):
    if not isinstance(body.get(field), str):
        yield f"Invalid type for '{where}.{field}': expected a string"
    if not TOOL.fullmatch(body.get("name") or ""):
        yield f"Invalid '{where}.name': string does not match pattern"


def _order(messages):
    for at, message in enumerate(messages):
        if message["role"] == "tool" and _caller(messages, at) is None:
            yield (
                f"Invalid parameter: messages[{at}] with role 'tool' must be a response to a "
                "preceding message with 'tool_calls'."
            )
        if message["role"] == "function" and not _called_by_name(messages, at):
            yield f"messages[{at}]: no function_call of {message['name']!r} right before it"
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        if len(set(ids)) < len(ids):
            yield f"Duplicate value for 'id' in messages[{at}].tool_calls"
        answers = [one["tool_call_id"] for one in _answers(messages, at)] if ids else []
        if missing := [call for call in ids if call not in answers]:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(missing)}"
            )
        if len(set(answers)) < len(answers):
            yield f"Duplicate value for 'tool_call_id' behind messages[{at}]"


def _answers(messages, at):
    """Return the tool messages right behind a position."""
    behind = at + 1
    while behind < len(messages) and messages[behind]["role"] == "tool":
        behind += 1
    return messages[at + 1 : behind]


def _caller(messages, at):
    """Return the position of the message that a tool message answers; None if there is none."""
    before = at
    while before >= 0 and messages[before]["role"] == "tool":
        before -= 1
    calls = (messages[before].get("tool_calls") or ()) if before >= 0 else ()
    return before if messages[at]["tool_call_id"] in [call["id"] for call in calls] else None


def _called_by_name(messages, at):
    before = messages[at - 1] if at else {}
    return (before.get("function_call") or {}).get("name") == messages[at]["name"]


def bonds(messages):
    for at, message in enumerate(messages):
        if message["role"] == "tool" and (caller := _caller(messages, at)) is not None:
            yield caller, at
        if message["role"] == "function" and _called_by_name(messages, at):
            yield at - 1, at
