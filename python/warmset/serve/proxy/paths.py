"""Which paths of requests and of upstreams mean the same to every server that reads them.

A path that one server reads as another than the next one does, leads around the rules of the first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = re.compile(rb"/[!-\"$-\[\]-~]*")
"""A slash and visible ASCII, without a fragment and without a backslash."""

_BROKEN_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DEEPEST: Final = 4
"""How often a path may be escaped over; nobody does that twice by accident."""


def raw_of(scope: Mapping[str, Any]) -> bytes:
    """Return the path of a request as it was sent, without its query.

    Args:
        scope: The request, as ASGI has it.
    """
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0]


def fault_of(raw: bytes) -> str | None:
    """Return what is wrong with a path, in words that hold nothing of it; None if nothing is.

    Args:
        raw: The path as it was sent, without its query.
    """
    if not _PLAIN.fullmatch(raw):
        return "the path must begin with / and be ASCII, without spaces, backslashes and #"
    if _BROKEN_ESCAPE.search(raw):
        return "the path has a % that begins no escape"
    text = raw
    for _ in range(_DEEPEST):
        plain = unquote_to_bytes(text)
        if (fault := _decoded_fault(plain, slashes=raw.count(b"/"))) is not None:
            return fault
        if plain == text:
            return None
        text = plain
    return "the path is escaped several times over"


def _decoded_fault(plain: bytes, *, slashes: int) -> str | None:
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        return "the path must be UTF-8 once its escapes are read"
    if text.count("/") != slashes or "\\" in text:
        return "the path must have no escaped slash or backslash"
    if _CONTROL.search(text):
        return "the path must have no control characters"
    if "//" in text:
        return "the path must have no empty part"
    if any(part.partition(";")[0] in (".", "..") for part in text.split("/")):
        return "the path must have no part . or .."
    return None
