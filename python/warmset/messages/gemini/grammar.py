"""Gemini contents: the user and the model, and parts for text, calls and responses."""

from __future__ import annotations

from typing import Any

from warmset.messages.codec import encode
from warmset.messages.gemini import parts as p
from warmset.messages.model import Facts, Fault, Message
from warmset.messages.text import joined, placeholder

ROLES = ("user", "model", "function", "tool")


def mark(message: Message) -> str | None:
    """Name what in the message only this dialect has; see `Grammar`."""
    if isinstance(message.get("parts"), list):
        return "a list of parts"
    return "the role 'model'" if message.get("role") == "model" else None


def fault(message: Message) -> Fault | None:
    """Say what makes the message malformed; see `Grammar`.

    A content without a role is the user's, and the model's may come without parts, as it does when
    it was stopped before it said anything.
    """
    why = _role_fault(message) or _parts_fault(message)
    return None if why is None else Fault(why)


def _role_fault(message: Message) -> str | None:
    role = message.get("role")
    if role in ("system", "developer"):
        return f"Gemini has no role {role!r} in its contents; pass it as the systemInstruction"
    if role == "assistant":
        return "the role 'assistant' is of other dialects; Gemini's is 'model'"
    if role is not None and role not in ROLES:
        return f"the role {role!r} is unknown; use 'user' or 'model'"
    return None


def _parts_fault(message: Message) -> str | None:
    found = message.get("parts")
    if found is None:
        if message.get("content") is not None:
            return "content is of other dialects; Gemini has parts, a list; convert() it first"
        if not p.is_model(message):
            return "parts are missing; send a list of them, as [{'text': …}]"
        return None
    if not isinstance(found, list):
        return f"parts is a {type(found).__name__}; it must be a list of parts"
    for place, part in enumerate(found):
        why = _part_fault(part, is_model=p.is_model(message))
        if why is not None:
            return f"parts[{place}] {why}"
    return None


def _part_fault(part: Any, *, is_model: bool) -> str | None:
    if not isinstance(part, dict):
        return "must be a mapping, as {'text': …}"
    names = p.said(part)
    if len(names) != 1:
        return f"says {' and '.join(names)} at once; make a part of each" if names else None
    (name,) = names
    found: Any = p.get(part, name)
    why: str | None = None
    kind, called = (str, "string") if name == "text" else (dict, "mapping")
    fits = isinstance(found, kind)
    if not fits:
        why = f"needs {name}, a {called}"
    elif name == p.CALL:
        why = _function_fault(found, "args")
        why = why if is_model else "calls a function; only the model does that"
    elif name == p.RESPONSE:
        why = _response_fault(found)
        why = "answers a function call; responses go into a user content" if is_model else why
    return why


def _response_fault(found: Any) -> str | None:
    return _function_fault(found, "response") or _inner_fault(found.get("parts"))


def _function_fault(found: Any, field: str) -> str | None:
    if not isinstance(found.get("name"), str) or not found["name"]:
        return "needs name, the function's"
    if not isinstance(found.get("id", ""), (str, type(None))):
        return "needs a string as id, or none"
    if not isinstance(found.get(field, {}), (dict, type(None))):
        return f"needs {field}, a mapping"
    return None


def _inner_fault(inner: Any) -> str | None:
    if inner is None:
        return None
    if not isinstance(inner, list) or not all(isinstance(part, dict) for part in inner):
        return "needs a list of mappings as the response's parts"
    if all(isinstance(found, dict) for part in inner for found in _media(part)):
        return None
    return "needs inlineData or fileData, mappings, as the response's parts"


def _media(part: Message) -> list[Any]:
    return [found for name in (p.INLINE, p.FILE) if (found := p.get(part, name)) is not None]


def facts(message: Message) -> Facts:
    """Read the facts of a well-formed message; see `Grammar`.

    A call without an id goes by its name, and so does its response.
    """
    found = p.parts(message)
    text = joined([said for part in found if (said := _say(part))])
    images = sum(p.is_image(blob) for part in found for blob in p.media(part))
    if p.is_model(message):
        calls = tuple(map(p.label, p.calls(message)))
        return Facts("assistant", text, calls, images=images)
    results = tuple(map(p.label, p.responses(message)))
    asks = any(p.said(part) not in ([], [p.RESPONSE]) for part in found)
    role = "tool" if results and not asks else "user"
    return Facts(role, text, (), results, images=images, request=asks)


def _say(part: Message) -> str:
    names = [] if p.is_thought(part) else p.said(part)
    if not names:
        return ""
    found = p.get(part, names[0])
    blobs = "\n".join(map(_blob, p.media(part)))
    match names[0]:
        case "text":
            said: str = found
        case p.CALL:
            said = f"{found['name']}({encode(found.get('args') or {})})"
        case p.RESPONSE:
            said = "\n".join(one for one in (p.output(found), blobs) if one)
        case p.INLINE | p.FILE:
            said = blobs
        case p.CODE:
            said = _text(found, "code")
        case p.OUTCOME:
            said = _text(found, "output")
        case _:
            said = encode(found)
    return said


def _blob(blob: Message) -> str:
    """Stand for what is no text: `[image: plan.png]`, `[audio]`."""
    kind = p.get(blob, "mimeType")
    family = kind.split("/")[0] if isinstance(kind, str) else ""
    named = {"title": p.get(blob, "displayName"), "url": p.get(blob, "fileUri")}
    return placeholder(family if family in ("image", "audio", "video") else "file", named)


def _text(found: Message, field: str) -> str:
    text = found.get(field)
    return text if isinstance(text, str) else encode(found)


def say(role: str, text: str) -> Message:
    """Make a message that says one text; see `Grammar`."""
    return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}


def say_response(response: Message) -> str:
    """Return what a function response says, its images as placeholders."""
    return joined([_say({p.RESPONSE: response})])
