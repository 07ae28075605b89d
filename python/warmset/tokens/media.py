"""The size of an image, read from the first bytes of its base64."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final, TypeAlias

Size: TypeAlias = tuple[int, int]
"""Width and height in pixels."""

_HEAD: Final = 64
"""Base64 characters that hold the size in every format but JPEG."""

_JPEG: Final = 400_000
"""Base64 characters of a JPEG that are read: its size follows profiles and previews."""

_NO_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD8)})
_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers without a segment, and those whose segment holds the frame's size."""

_MARKER: Final = 0xFF
_SCAN: Final = 0xDA
_PNG: Final = 24
_NEED: Final = 30
"""Bytes that the headers of PNG and WebP need to hold a size."""


def data_url(text: str) -> tuple[str, str] | None:
    """Split a data URL into its media type and its base64.

    Args:
        text: Any text.

    Returns:
        Media type (may be empty) and base64, or None when the text is no base64 data URL.
    """
    if not text.startswith("data:"):
        return None
    head, comma, data = text.partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")].split(";")[0].lower(), data


def decode_head(data: str, characters: int) -> bytes:
    """Decode the beginning of a base64 text, of either alphabet; what is no base64 is no bytes."""
    head = "".join(data[:characters].split()).replace("-", "+").replace("_", "/").rstrip("=")
    head = head[: len(head) // 4 * 4] if len(data) > characters else head + "=" * (-len(head) % 4)
    try:
        return base64.b64decode(head, validate=True)
    except (binascii.Error, ValueError):
        return b""


def image_size(data: str) -> Size | None:
    """Read an image's size from its base64: PNG, JPEG, GIF or WebP.

    Args:
        data: The image in base64, without a data URL's head.

    Returns:
        Width and height, or None if the header does not contain them.
    """
    head = decode_head(data, _HEAD)
    if head.startswith(b"\xff\xd8"):
        found = _jpeg(decode_head(data, _JPEG))
    elif head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        found = struct.unpack(">II", head[16:24]) if len(head) >= _PNG else None
    elif head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= len("GIF89a") + 4:
        found = struct.unpack("<HH", head[6:10])
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= _NEED:
        found = _webp(head)
    else:
        found = None
    return (found[0], found[1]) if found and found[0] > 0 and found[1] > 0 else None


def _jpeg(data: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(data) and data[at] == _MARKER:
        marker = data[at + 1]
        if marker == _MARKER:
            at += 1
        elif marker in _NO_LENGTH:
            at += 2
        elif marker in _SIZES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        elif marker == _SCAN:
            return None
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return (
            int.from_bytes(data[24:27], "little") + 1,
            int.from_bytes(data[27:30], "little") + 1,
        )
    return None
