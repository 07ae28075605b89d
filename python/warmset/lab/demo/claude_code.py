"""Reads transcripts of Claude Code: one event on each line, some of which are turns.

A reply is written as it streams, one row for each block, so rows with the same message id are one
message. Everything but turns of the main conversation is skipped: sidechains of subagents, the
program's own rows, summaries, errors of the API, and withdrawn prompts with all that followed them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.lab.corpus.rows import mapping
from warmset.lab.corpus.transcript import Line
from warmset.text.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.lab.corpus.rows import Row

_TURNS: Final = frozenset({"user", "assistant"})
_NOT_SAID: Final = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")
_WRITTEN_BY_PROGRAM: Final = "<synthetic>"
_EVENT: Final = frozenset({"uuid", "sessionId", "timestamp", "leafUuid", "messageId", "message"})


def is_event(row: dict[str, Any]) -> bool:
    """Return whether a row is an event of such a transcript."""
    return isinstance(row.get("type"), str) and "role" not in row and bool(_EVENT & row.keys())


def read(rows: Iterable[Row]) -> list[Line]:
    """Read the turns of a transcript.

    Args:
        rows: Objects with their places.

    Returns:
        The lines, in the file's order; a reply has the place of its first block.

    Raises:
        InvalidInputError: A turn has no message, or a time that is none.
    """
    lines: list[Line] = []
    replies: dict[str, int] = {}
    tree = _Tree()
    for where, row in rows:
        if not tree.take(row) or not _is_turn(row):
            continue
        given = mapping(row.get("message"), f"{where}, message")
        content = given.get("content")
        if not content or (isinstance(content, str) and not content.strip()):
            continue
        key = given.get("id") if row["type"] == "assistant" else None
        if isinstance(key, str) and key in replies:
            at = replies[key]
            lines[at] = replace(lines[at], message=_joined(lines[at].message, content))
            continue
        if isinstance(key, str):
            replies[key] = len(lines)
        tree.stands(row, len(lines))
        message = {"role": given.get("role"), "content": content}
        lines.append(Line(message=message, at=_at(row, where), where=where))
    dropped = tree.taken_back()
    return [line for at, line in enumerate(lines) if at not in dropped]


def _is_turn(row: dict[str, Any]) -> bool:
    message = row.get("message")
    if row.get("type") not in _TURNS or any(row.get(flag) for flag in _NOT_SAID):
        return False
    return not isinstance(message, dict) or message.get("model") != _WRITTEN_BY_PROGRAM


def _joined(message: dict[str, Any], content: Any) -> dict[str, Any]:
    return message | {"content": [*_blocks(message["content"]), *_blocks(content)]}


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _at(row: dict[str, Any], where: str) -> float | None:
    try:
        return None if row.get("timestamp") is None else seconds(row["timestamp"], "timestamp")
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


class _Tree:
    """The parents of rows, from which withdrawn prompts are found."""

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._places: dict[str, int] = {}
        self._prompts: dict[str, list[str]] = {}

    def take(self, row: dict[str, Any]) -> bool:
        """Add a row; return False if it was there before, because resumed sessions repeat rows."""
        own, parent = row.get("uuid"), row.get("parentUuid")
        if not isinstance(own, str):
            return True
        if own in self._parents:
            return False
        self._parents[own] = parent if isinstance(parent, str) else None
        if isinstance(parent, str) and row.get("type") == "user" and _is_turn(row) and _asks(row):
            self._prompts.setdefault(parent, []).append(own)
        return True

    def stands(self, row: dict[str, Any], place: int) -> None:
        """Record where a row's message begins."""
        if isinstance(row.get("uuid"), str):
            self._places[row["uuid"]] = place

    def taken_back(self) -> set[int]:
        """Return the places of messages that follow a withdrawn prompt."""
        lost = {prompt for asked in self._prompts.values() for prompt in asked[:-1]}
        if not lost:
            return set()
        for own, parent in self._parents.items():  # parents come before what follows them
            if parent in lost:
                lost.add(own)
        return {place for own, place in self._places.items() if own in lost}


def _asks(row: dict[str, Any]) -> bool:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return isinstance(content, str)
    return not any(isinstance(b, dict) and b.get("type") == "tool_result" for b in content)
