"""The parts of Gemini's contents, whichever way their fields are written.

The REST API writes fields as functionCall, Google's Python SDK as function_call; both are read, and
a part that is changed keeps the way in which it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.messages.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warmset.messages.model import Message

CALL, RESPONSE = "functionCall", "functionResponse"
INLINE, FILE = "inlineData", "fileData"
CODE, OUTCOME = "executableCode", "codeExecutionResult"
SIGNATURE = "thoughtSignature"
DATA = ("text", CALL, RESPONSE, INLINE, FILE, CODE, OUTCOME, "toolCall", "toolResponse")
"""The fields that say something; a part has exactly one of them."""


def snake(name: str) -> str:
    """Return a field's name as Google's Python SDK writes it."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


_SNAKES: dict[str, str] = {
    name: snake(name) for name in (*DATA, SIGNATURE, "mimeType", "displayName", "fileUri")
}


def key(source: Mapping[str, Any], name: str) -> str | None:
    """Return the key under which a mapping has a field; None where it has none or null.

    Args:
        source: A part, or a mapping inside of one.
        name: The field as the REST API writes it.
    """
    if source.get(name) is not None:
        return name
    snake = _SNAKES.get(name, name)
    return snake if source.get(snake) is not None else None


def get(source: Mapping[str, Any], name: str) -> Any:
    """Return a field of a mapping by the name that the REST API has for it, or None."""
    found = key(source, name)
    return None if found is None else source[found]


def put(source: Message, name: str, value: object) -> Message:
    """Return a copy of a mapping with another value in an existing field."""
    return source | {key(source, name) or name: value}


def without(source: Message, name: str) -> Message:
    """Return a copy of a mapping without a field, however it is written."""
    return {k: v for k, v in source.items() if k not in (name, _SNAKES.get(name))}


def parts(content: Mapping[str, Any]) -> list[Message]:
    """Return the parts of a well-formed content; the model's may have none."""
    return content.get("parts") or []


def is_model(content: Mapping[str, Any]) -> bool:
    """Tell whether the content is the model's; every other one counts as the user's."""
    return content.get("role") == "model"


def sides(contents: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield the runs of neighbours of one side, which the API merges: first and last position."""
    first = 0
    for at in range(1, len(contents) + 1):
        if at == len(contents) or is_model(contents[at]) != is_model(contents[first]):
            yield first, at - 1
            first = at


def said(part: Message) -> list[str]:
    """Return the names of a part's fields that have content."""
    return [name for name in DATA if key(part, name) is not None]


def is_thought(part: Message) -> bool:
    """Tell whether the part is the model's reasoning."""
    return part.get("thought") is True


def calls(content: Mapping[str, Any]) -> list[Message]:
    """Return the function calls of a content, in order."""
    return [call for part in parts(content) if (call := get(part, CALL)) is not None]


def responses(content: Mapping[str, Any]) -> list[Message]:
    """Return the function responses of a content, in order."""
    return [answer for part in parts(content) if (answer := get(part, RESPONSE)) is not None]


def label(either: Message) -> str:
    """Return what tells a call or response apart: its id, or its name where it has none."""
    found: str = either.get("id") or either["name"]
    return found


def sign(either: Message) -> tuple[str, str]:
    """Return what has to be equal in a call and its response: the id, if it has one, and name."""
    return either.get("id") or "", either["name"]


def output(response: Message) -> str:
    """Return what a function response says: its output where that is a text, else all as JSON."""
    match response.get("response"):
        case {"output": str(text), **rest} if not rest:
            return text
        case None:
            return ""
        case found:
            return encode(found)


def media(part: Message) -> Iterator[Message]:
    """Yield the blobs and files of a part, those inside of a function response included."""
    response = get(part, RESPONSE)
    inner = (response or {}).get("parts") or []
    for one in (part, *inner):
        for name in (INLINE, FILE):
            found = get(one, name)
            if found is not None:
                yield found


def is_image(blob: Message) -> bool:
    """Tell whether a blob or file is an image."""
    kind = get(blob, "mimeType")
    return isinstance(kind, str) and kind.startswith("image/")
