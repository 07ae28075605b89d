"""Reads MessagePack, the encoding of LangGraph's checkpoints; nothing that it names is imported or run.

```text
00-7f 0…127 │ 80-8f map │ 90-9f array │ a0-bf text │ c0 nil │ c2 c3 bool │ c4-c6 bytes │ c7-c9 extension
ca cb float │ cc-cf unsigned │ d0-d3 signed │ d4-d8 extension │ d9-db text │ dc dd array │ de df map
e0-ff −32…−1
```
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from warmset.errors import InvalidInputError

_DEPTH: Final = 200

_NUMBERS: Final = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_BYTES: Final = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_TEXTS: Final = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_ARRAYS: Final = {0xDC: ">H", 0xDD: ">I"}
_MAPS: Final = {0xDE: ">H", 0xDF: ">I"}
_EXTENSIONS: Final = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}
_FIXED: Final = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_PLAIN: Final = {0xC0: None, 0xC2: False, 0xC3: True}


@dataclass(frozen=True, slots=True)
class Extension:
    """A value of a type that the program that wrote it defined.

    Args:
        code: The type's number.
        data: Its bytes.
    """

    code: int
    data: bytes


def unpack(data: bytes) -> Any:
    """Return the value that bytes encode.

    Raises:
        InvalidInputError: They are not one value of MessagePack.
    """
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (struct.error, UnicodeDecodeError, TypeError) as error:
        raise InvalidInputError(f"not MessagePack: {error}") from error
    if reader.at != len(data):
        raise InvalidInputError("not MessagePack: there is more behind the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > _DEPTH:
            raise InvalidInputError(f"not MessagePack: nested deeper than {_DEPTH}")
        [tag] = self._take(1)
        if tag <= 0x7F or tag >= 0xE0:
            return tag if tag <= 0x7F else tag - 0x100
        if tag <= 0x8F:
            return self._map(tag & 0x0F, depth)
        if tag <= 0x9F:
            return self._array(tag & 0x0F, depth)
        if tag <= 0xBF:
            return self._take(tag & 0x1F).decode("utf-8", "surrogatepass")
        if tag in _PLAIN:
            return _PLAIN[tag]
        if tag in _NUMBERS:
            return self._number(_NUMBERS[tag])
        return self._long(tag, depth)

    def _long(self, tag: int, depth: int) -> Any:
        if tag in _TEXTS:
            return self._take(self._number(_TEXTS[tag])).decode("utf-8", "surrogatepass")
        if tag in _BYTES:
            return self._take(self._number(_BYTES[tag]))
        if tag in _ARRAYS:
            return self._array(self._number(_ARRAYS[tag]), depth)
        if tag in _MAPS:
            return self._map(self._number(_MAPS[tag]), depth)
        if tag in _FIXED or tag in _EXTENSIONS:
            size = _FIXED[tag] if tag in _FIXED else self._number(_EXTENSIONS[tag])
            code = self._number(">b")
            return Extension(code, self._take(size))
        raise InvalidInputError(f"not MessagePack: a value cannot begin with 0x{tag:02x}")

    def _array(self, size: int, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(size)]

    def _map(self, size: int, depth: int) -> dict[Any, Any]:
        return {self.value(depth + 1): self.value(depth + 1) for _ in range(size)}

    def _number(self, form: str) -> Any:
        [found] = struct.unpack(form, self._take(struct.calcsize(form)))
        return found

    def _take(self, size: int) -> bytes:
        found = self._data[self.at : self.at + size]
        if len(found) < size:
            raise InvalidInputError("not MessagePack: it ends too early")
        self.at += size
        return found
