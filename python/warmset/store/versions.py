"""Reads the columns of an older version of a cell, as the log keeps it until it is compacted."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import NewerFormat

if TYPE_CHECKING:
    from warmset._core import Record

_VERSION: Final = 1
_COLUMNS: Final = 5
_CONSTANTS: Final = (None, False, True)
_SHAPES: Final = {3: "<q", 4: "<d"}
_TEXT: Final = 5
_TIME: Final = 6
_LIST: Final = 7
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


def columns_of(record: Record) -> dict[str, Any]:
    """Return the columns that a version of a cell was put with; see the file format, "columns".

    Args:
        record: A record of kind "cell".

    Raises:
        NewerFormat: A newer version of warmset wrote it.
    """
    meta = record.meta
    if not meta or meta[0] != _VERSION:
        raise NewerFormat(f"record #{record.seq} is of a newer version; update warmset to read it")
    at = 1
    while at < len(meta):
        number, length = struct.unpack_from("<BI", meta, at)
        at += 5
        if number == _COLUMNS:
            return _Reading(meta, at).columns()
        at += length
    return {}


class _Reading:
    """Reads one value after the other.

    Args:
        data: The bytes.
        at: Where to begin.
    """

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(self._number("<I")):
            name = self._text(self._number("<H"))
            found[name] = self._value()
        return found

    def _number(self, shape: str) -> Any:
        [value] = struct.unpack_from(shape, self._data, self._at)
        self._at += struct.calcsize(shape)
        return value

    def _text(self, length: int) -> str:
        start, self._at = self._at, self._at + length
        return self._data[start : self._at].decode("utf-8", "surrogatepass")

    def _value(self) -> Any:
        number = self._number("<B")
        if number < len(_CONSTANTS):
            return _CONSTANTS[number]
        if number in _SHAPES:
            return self._number(_SHAPES[number])
        if number == _TEXT:
            return self._text(self._number("<I"))
        if number == _TIME:
            return _START + timedelta(microseconds=self._number("<q"))
        if number == _LIST:
            return [self._value() for _ in range(self._number("<I"))]
        raise NewerFormat(f"a column is of a newer type, {number}; update warmset to read it")
