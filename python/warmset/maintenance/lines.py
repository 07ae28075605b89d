"""Records as lines of JSON, and back: always exact, and readable where possible.

A part is written as JSON if reading it gives the same bytes again, else in base64. For instance,
two lone surrogates that look like a pair are one character to every JSON reader.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Final, cast

from warmset import messages
from warmset.errors import InvalidInputError
from warmset.store.records import CHECKPOINT, TURN, VECTORS

if TYPE_CHECKING:
    from warmset._core import Record
    from warmset.store.records import Draft

VERSION: Final = 1

HEADER: Final = {"warmset": "export", "version": VERSION}
"""The first line."""

_POINTERS: Final = {TURN: "parent", CHECKPOINT: "id", **dict.fromkeys(VECTORS, "of")}
"""Kind of record ─▶ the field of its meta that holds another record's id."""


def to_line(record: Record, meta: bytes | None = None) -> str:
    """Write a record as one line of ASCII, with its meta replaced if one is given."""
    kept = record.meta if meta is None else meta
    draft = (record.kind, [*record.key], kept, record.payload, record.sources)
    return line_of(record.seq, draft)


def line_of(id_: int, draft: Draft) -> str:
    """Write a record with that id as one line of ASCII."""
    kind, key, meta, payload, sources = draft
    line: dict[str, Any] = {"id": id_, "kind": kind}
    line["key"] = [_name(part) for part in key]
    if sources:
        line["sources"] = list(sources)
    for name, data in (("meta", meta), ("payload", payload)):
        found = _readable(name, data)
        line[f"{name}64" if found is None else name] = _base64(data) if found is None else found
    return json.dumps(line, separators=(",", ":"), allow_nan=False)


def from_line(text: str) -> tuple[int, Draft]:
    """Read what `to_line` wrote.

    Returns:
        The record's id in the exported store, and the record to append.

    Raises:
        InvalidInputError: It is not such a line; the message has the reason.
    """
    line = _object(text)
    try:
        id_, kind = line["id"], line["kind"]
        key = [_part(part) for part in _list(line["key"])]
        sources = tuple(line.get("sources", ()))
        meta, payload = (_bytes(line, name) for name in ("meta", "payload"))
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise InvalidInputError(f"not a record: {error!r}") from error
    if not isinstance(kind, str) or not all(_is_id(one) for one in (id_, *sources)):
        raise InvalidInputError("not a record: expected a kind, and positive integers as ids")
    return id_, (kind, key, meta, payload, sources)


def check_header(text: str) -> None:
    """Check the header of an export.

    Raises:
        InvalidInputError: The file is not an export, or one of a newer version.
    """
    line = _object(text)
    if line.get("warmset") != HEADER["warmset"]:
        raise InvalidInputError(
            "not an export of warmset: its first line is not an export's header"
        )
    if line.get("version") != VERSION:
        raise InvalidInputError(
            f"version {line.get('version')!r} of the export, this one reads {VERSION}; upgrade"
        )


def pointer(draft: Draft) -> tuple[str, int] | None:
    """Return the field of a record's meta that has another record's id, and that id.

    An id of 0 means no record, and is not a reference.
    """
    name = _POINTERS.get(draft[0])
    if name is None:
        return None
    id_ = _loads(draft[2]).get(name)
    return (name, cast("int", id_)) if _is_id(id_) else None


def pointed(draft: Draft, id_: int | None) -> Draft:
    """Return a record whose meta refers to another record, or to none."""
    kind, key, meta, payload, sources = draft
    name = _POINTERS[kind]
    fields = {**_loads(meta), name: id_}
    if id_ is None:
        del fields[name]
    return kind, key, _meta(fields), payload, sources


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _object(text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not a line of JSON: {error}") from error
    if not isinstance(line, dict):
        raise InvalidInputError(f"expected a JSON object, found a {type(line).__name__}")
    return line


def _loads(meta: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(meta)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _name(part: bytes) -> str | dict[str, str]:
    try:
        return part.decode()
    except UnicodeDecodeError:
        return {"base64": _base64(part)}


def _list(written: object) -> list[Any]:
    """Return a key's parts; a string is a sequence too, but not a key.

    Raises:
        ValueError: It is not a list, or it is empty.
    """
    if not isinstance(written, list) or not written:
        raise ValueError(f"key: expected a list of names, found {written!r:.80}")
    return written


def _part(written: str | dict[str, str]) -> bytes:
    if isinstance(written, str):
        return written.encode()
    return base64.b64decode(written["base64"], validate=True)


def _readable(name: str, data: bytes) -> dict[str, Any] | None:
    """Return the object of JSON bytes, if a line can represent it without loss."""
    try:
        found: dict[str, Any] = json.loads(json.dumps(messages.loads(data)))
        return found if _write(name, found) == data else None
    except (InvalidInputError, ValueError, RecursionError):
        return None


def _bytes(line: dict[str, Any], name: str) -> bytes:
    if f"{name}64" in line:
        return base64.b64decode(line[f"{name}64"], validate=True)
    return _write(name, line[name])


def _write(name: str, fields: dict[str, Any]) -> bytes:
    """Write an object in the store's format: meta in ASCII, a payload in UTF-8."""
    return messages.dumps(fields) if name == "payload" else _meta(fields)


def _meta(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
