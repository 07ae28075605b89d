"""Helpers to read parts of messages as plain text, for all dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CAPTIONS = ("caption", "alt_text", "alt", "title", "filename", "file_name")


def kind_of(part: object) -> str:
    """Return the type of a part or block; empty if it has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def role_fault(message: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a message's role; None if it is a string."""
    if isinstance(message.get("role"), str):
        return None
    if "role" in message:
        return f"the role is a {type(message['role']).__name__}; it must be a string"
    return f"there is no role among {sorted(message)}; add one, as 'user' or 'assistant'"


def joined(pieces: list[str]) -> str:
    """Join texts, one on each line, as valid Unicode.

    A pair of surrogates becomes its character, a lone one U+FFFD, because an index and a tokenizer
    need valid Unicode. The message itself is not changed.
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
    """Return a placeholder for content without text: `[image: plan of the house]`, or `[image]`.

    Args:
        kind: The kind of content.
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
