"""Reads MessagePack, the encoding of LangGraph's checkpoints; nothing that it names is imported.

The first byte of a value says what it is, and either has its value or length, or how many bytes
those take: see `_FORMS`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from warmset.errors import InvalidInputError

_Kind: TypeAlias = Literal["is", "number", "text", "bytes", "array", "map", "extension"]

_DEPTH: Final = 200

_FORMS: Final[dict[int, tuple[_Kind, Any]]] = {
    **{n: ("is", n) for n in range(0x80)},
    **{0x80 + n: ("map", n) for n in range(0x10)},
    **{0x90 + n: ("array", n) for n in range(0x10)},
    **{0xA0 + n: ("text", n) for n in range(0x20)},
    **{0xE0 + n: ("is", n - 0x20) for n in range(0x20)},
    0xC0: ("is", None),
    0xC2: ("is", False),
    0xC3: ("is", True),
    **{0xC4 + n: ("bytes", form) for n, form in enumerate((">B", ">H", ">I"))},
    **{0xC7 + n: ("extension", form) for n, form in enumerate((">B", ">H", ">I"))},
    **{0xCA + n: ("number", ">" + form) for n, form in enumerate("fdBHIQbhiq")},
    **{0xD4 + n: ("extension", 1 << n) for n in range(5)},
    **{0xD9 + n: ("text", form) for n, form in enumerate((">B", ">H", ">I"))},
    **{0xDC + n: ("array", form) for n, form in enumerate((">H", ">I"))},
    **{0xDE + n: ("map", form) for n, form in enumerate((">H", ">I"))},
}
"""First byte ─▶ the kind of value, and the value, its length, or the form of a number or length."""


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
    except (UnicodeDecodeError, TypeError) as error:
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
        if tag not in _FORMS:
            raise InvalidInputError(f"not MessagePack: no value begins with 0x{tag:02x}")
        kind, given = _FORMS[tag]
        size = self._number(given) if isinstance(given, str) else given
        match kind:
            case "is" | "number":
                return size
            case "text":
                return self._take(size).decode("utf-8", "surrogatepass")
            case "bytes":
                return self._take(size)
            case "array":
                return [self.value(depth + 1) for _ in range(size)]
            case "map":
                return {self.value(depth + 1): self.value(depth + 1) for _ in range(size)}
            case "extension":
                code = self._number(">b")
                return Extension(code, self._take(size))

    def _number(self, form: str) -> Any:
        [found] = struct.unpack(form, self._take(struct.calcsize(form)))
        return found

    def _take(self, size: int) -> bytes:
        found = self._data[self.at : self.at + size]
        if len(found) < size:
            raise InvalidInputError("not MessagePack: it ends too early")
        self.at += size
        return found
