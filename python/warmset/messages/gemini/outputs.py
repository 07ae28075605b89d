"""What function responses of Gemini hold: an output or an error, as a text or as JSON.

Source: the FunctionResponse of the Gemini API. The key "output" has the function's output, "error"
its error; what has neither is the function's output as a whole.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from warmset.errors import InvalidInputError
from warmset.messages.codec import accept, encode
from warmset.messages.gemini import parts as p
from warmset.messages.turns import Image, Text

if TYPE_CHECKING:
    from warmset.messages.model import Message


def read_output(response: Message) -> tuple[str | tuple[Text | Image, ...], bool]:
    """Read what a function response says.

    Args:
        response: A well-formed function response.

    Returns:
        The text, or several, and whether it is an error.
    """
    match response.get("response"):
        case {"output": [*texts], **rest} if not rest and _are_texts(texts):
            return tuple(map(Text, texts)), False
        case {"error": [*texts], **rest} if not rest and _are_texts(texts):
            return tuple(map(Text, texts)), True
        case {"error": error, **rest} if not rest and error is not None:
            return error if isinstance(error, str) else encode(error), True
        case _:
            return p.output(response), False


def write_output(content: str | tuple[Text, ...], *, is_error: bool) -> Message:
    """Write what a function response says, so that it reads back.

    Args:
        content: A text, or several. A text that is compact JSON of an object is written as it.
        is_error: Whether it is an error.

    Returns:
        The response.
    """
    key = "error" if is_error else "output"
    if not isinstance(content, str):
        return {key: [part.text for part in content]}
    found = _as_object(content)
    if found is None or (not is_error and _reads_otherwise(found)):
        return {key: content}
    return {key: found} if is_error else found


def _reads_otherwise(found: Message) -> bool:
    """Tell whether an object, as a whole response, would not be read as its own JSON."""
    said = found.get("output")
    other = isinstance(said, str) or _are_texts(said) or found.get("error") is not None
    return len(found) == 1 and other


def _as_object(text: str) -> Message | None:
    """Return the object that a text is the compact JSON of; None if it is none."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
        accept([{"parts": [{p.RESPONSE: {"response": found}}]}])
        same = isinstance(found, dict) and encode(found) == text
    except (ValueError, RecursionError, InvalidInputError):
        return None
    return found if same else None


def _are_texts(found: Any) -> bool:
    return bool(found) and isinstance(found, list) and all(isinstance(one, str) for one in found)
