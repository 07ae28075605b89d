"""Reads lists of messages in providers' formats, and rows with a time and a speaker for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from warmset.errors import InvalidInputError
from warmset.lab.corpus.rows import mapping
from warmset.lab.corpus.transcript import Line
from warmset.messages import detect
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warmset.lab.corpus.rows import Row


def read(rows: Iterable[Row]) -> Iterator[Line]:
    """Read messages, or rows like ``{"message": {...}, "at": ..., "speaker": ...}``.

    Args:
        rows: Objects with their places.

    Yields:
        A line each; messages are not changed.

    Raises:
        InvalidInputError: An object is neither, or a field beside the message cannot be read.
    """
    for where, row in rows:
        if "role" in row or ("message" not in row and detect([row]) is not None):
            yield Line(message=row, where=where)
        elif "message" in row:
            yield Line(
                message=mapping(row["message"], f"{where}, message"),
                at=_at(row.get("at"), where),
                speaker=_name(row, "speaker", where),
                session=_name(row, "session", where),
                where=where,
            )
        else:
            raise InvalidInputError(
                f"{where}: neither a message (no role, and no type of an item or a step) nor "
                "a row with a message; "
                "give messages of OpenAI, Anthropic or Gemini, a Claude Code transcript, or LoCoMo"
            )


def listed(value: Any) -> list[object] | None:
    """Return the messages of a JSON value, a list or an object with "messages", if it has any."""
    found: object = value.get("messages") if isinstance(value, dict) else value
    return cast("list[object]", found) if isinstance(found, list) else None


def _at(given: object, where: str) -> float | None:
    try:
        return None if given is None else seconds(given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def _name(row: dict[str, Any], key: str, where: str) -> str | None:
    value = row.get(key)
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise InvalidInputError(f"{where}: {key} must be a name, found {value!r}")
