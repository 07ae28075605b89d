"""JSON in the payloads of a log: compact, ASCII, and read many at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

BLOCK: Final = 1 << 16
"""Bytes that are parsed at once: several times as fast as one by one, and no wait for others."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def dumped(value: Any) -> bytes:
    """Return a value as JSON.

    Raises:
        TypeError: It is not what JSON can hold.
    """
    return _encode(value).encode("ascii")


def loaded(payload: bytes) -> Any:
    """Return the value of a payload."""
    return _decode(payload.decode("ascii"))


def all_loaded(payloads: Iterable[bytes]) -> list[Any]:
    """Return the values of several payloads."""
    found: list[Any] = []
    block: list[bytes] = []
    size = 0
    for payload in payloads:
        block.append(payload)
        size += len(payload)
        if size >= BLOCK:
            found += loaded(b"[%b]" % b",".join(block))
            block, size = [], 0
    found += loaded(b"[%b]" % b",".join(block))
    return found
