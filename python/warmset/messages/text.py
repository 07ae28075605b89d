"""Parts of a message and what they say, as plain text: what every dialect needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CAPTIONS = ("caption", "alt_text", "alt", "title", "filename", "file_name")


def kind_of(part: object) -> str:
    """Return the type of a part or block, empty where it has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def role_fault(message: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a message's role; None where it is a text."""
    if isinstance(message.get("role"), str):
        return None
    if "role" in message:
        return f"the role is a {type(message['role']).__name__}; it must be a string"
    return f"there is no role among {sorted(message)}; add one, as 'user' or 'assistant'"


def joined(pieces: list[str]) -> str:
    """Join what is said, one piece a line, as valid Unicode.

    A pair of surrogates becomes its character, a lone one becomes U+FFFD: an index and a tokenizer
    want Unicode. The message itself keeps what it had.
    """
    text = pieces[0] if len(pieces) == 1 else "\n".join(piece for piece in pieces if piece)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def placeholder(kind: str, *sources: object) -> str:
    """Stand for what is no text: `[image: plan of the house]`, or `[image]`.

    Args:
        kind: What it is.
        sources: Mappings that may hold a caption, a file name or a URL, the best one first.

    Returns:
        The placeholder, with the first caption or file name that was found.
    """
    for source in sources:
        if isinstance(source, Mapping):
            name = _caption(source)
            if name:
                return f"[{kind}: {name}]"
    return f"[{kind}]"


def _caption(source: Mapping[str, Any]) -> str:
    for key in _CAPTIONS:
        value = source.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    url = source.get("url")
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        path = url.split("?", 1)[0].split("#", 1)[0].split("://", 1)[1]
        return path.rsplit("/", 1)[1] if "/" in path else ""
    return ""
