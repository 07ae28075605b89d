"""The table of sources: how each is known by its content, and what reads it."""

from __future__ import annotations

import io
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from warmset.errors import InvalidInputError
from warmset.maintenance.lines import HEADER
from warmset.maintenance.transcripts import chats
from warmset.maintenance.transcripts.agents_sdk import agents, is_agents
from warmset.maintenance.transcripts.claude_code import ClaudeCode
from warmset.maintenance.transcripts.codex import ENVELOPES, Codex
from warmset.maintenance.transcripts.databases import opened, tables
from warmset.maintenance.transcripts.elements import elements
from warmset.maintenance.transcripts.item import UNREADABLE, Item
from warmset.maintenance.transcripts.langgraph import is_langgraph, langgraph
from warmset.maintenance.transcripts.lines import LineReading, value_of
from warmset.maintenance.transcripts.locomo import is_locomo, locomo
from warmset.maintenance.transcripts.plain import Plain, is_message, list_in
from warmset.store.known import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from warmset.maintenance.transcripts.item import Reading
    from warmset.maintenance.transcripts.lines import Parser
    from warmset.maintenance.transcripts.report import ImportReport

Source: TypeAlias = Literal[
    "claude-code",
    "codex",
    "chatgpt",
    "claude",
    "agents-sdk",
    "langgraph",
    "messages",
    "locomo",
    "warmset",
]
"""Where a file comes from."""

SOURCES: Final[tuple[Source, ...]] = get_args(Source)

_HEAD: Final = 4 << 20
"""The most bytes of a file that are looked at to know it."""

_CONVERSATIONS: Final = "conversations.json"
_SQLITE: Final = b"SQLite format 3\0"
_ZIP: Final = b"PK\x03\x04"
_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading an archive raises that is damaged, encrypted, or packed in an unknown way."""

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_CLAUDE_CODE: Final = frozenset(("sessionId", "leafUuid", "parentUuid", "isSnapshotUpdate"))
"""Fields that lines of Claude Code have, one or another."""

_OLD_CODEX: Final = frozenset(("id", "timestamp", "instructions"))
"""Fields of the first line of a rollout in older versions of Codex."""

_LINES: Final[dict[str, Callable[[str, ImportReport], Parser]]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "messages": Plain,
}
_ELEMENTS: Final[dict[str, Callable[[dict[str, Any], str], Iterator[Item]]]] = {
    "chatgpt": chats.chatgpt,
    "claude": chats.claude,
    "locomo": locomo,
}
_DATABASES: Final = {"agents-sdk": agents, "langgraph": langgraph}


class _NoConversationsError(InvalidInputError):
    """An archive is no export of chats."""


def sniff(path: Path) -> Source | None:
    """Return where a file comes from, judged by its content; None if no source knows it.

    Raises:
        InvalidInputError: It cannot be read, or is in an encoding that no source writes.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(_SQLITE):
            with opened(path) as connection:
                columns = tables(connection)
            return (
                "langgraph"
                if is_langgraph(columns)
                else "agents-sdk"
                if is_agents(columns)
                else None
            )
        if head.startswith(_ZIP):
            with _stream(path) as member:
                head = member.read(_HEAD)
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error
    except _NoConversationsError:
        return None
    if head.startswith(_UTF16):
        raise InvalidInputError(f"{path}: it is in UTF-16; convert it to UTF-8 first")
    return _of_text(head.removeprefix(b"\xef\xbb\xbf").lstrip())


def reading(path: Path, source: Source, name: str, report: ImportReport) -> Reading:
    """Return what reads a file.

    Args:
        path: The file.
        source: Where it comes from.
        name: The conversation of what names none.
        report: What is counted.
    """
    if source in _LINES and not _is_array(path):
        return LineReading(path, _LINES[source](name, report))
    return _WholeReading(path, source, name, report)


def _of_text(head: bytes) -> Source | None:
    if head[:1] == b"[":
        return _of_value(_first(head))
    for line in head.split(b"\n")[:1000]:
        value = value_of(line)
        found = _of_line(value) if isinstance(value, dict) else _of_value(value)
        if found is not None:
            return found
    return _of_value(_first(head)) if head[:1] == b"{" else None


def _of_line(fields: dict[str, Any]) -> Source | None:
    """Return the source of a file with such a line."""
    kind = fields.get("type")
    if fields.get("warmset") == HEADER["warmset"]:
        return "warmset"
    if kind in ENVELOPES and isinstance(fields.get("payload"), dict):
        return "codex"
    if "record_type" in fields or fields.keys() >= _OLD_CODEX:
        return "codex"
    if isinstance(kind, str) and not _CLAUDE_CODE.isdisjoint(fields):
        return "claude-code"
    if kind in ("user", "assistant") and isinstance(fields.get("message"), dict):
        return "claude-code"
    return _of_value(fields)


def _of_value(value: object) -> Source | None:
    if chats.is_chatgpt(value):
        return "chatgpt"
    if chats.is_claude(value):
        return "claude"
    if is_locomo(value):
        return "locomo"
    many = isinstance(value, list) and bool(value) and all(map(is_message, value))
    return "messages" if many or is_message(value) or list_in(value) is not None else None


def _first(head: bytes) -> Any:
    """Return the first element of an array, or an object, if it lies in the head whole."""
    try:
        return value_of(next(elements(io.BytesIO(head)), b""))
    except InvalidInputError:
        return _like(head)


def _like(head: bytes) -> Any:
    """Return what the first element looks like that does not end within the head."""
    for name in (b'"mapping"', b'"chat_messages"'):
        if name in head:
            return {name.strip(b'"').decode(): {} if name == b'"mapping"' else []}
    return None


def _is_array(path: Path) -> bool:
    """Return whether a file is one JSON value over several lines, or an array."""
    with path.open("rb") as file:
        head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head[:1] == b"[":
        return True
    return (
        head[:1] == b"{"
        and all(value_of(line) is None for line in head.split(b"\n")[:1000])
        and _first(head) is not None
    )


@contextmanager
def _stream(path: Path) -> Iterator[IO[bytes]]:
    """Open the conversations of an export, whether it is still in its archive or not."""
    with path.open("rb") as file:
        if file.read(len(_ZIP)) != _ZIP:
            file.seek(0)
            yield file
            return
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist(), key=len)
            name = next((one for one in names if one.rsplit("/", 1)[-1] == _CONVERSATIONS), None)
            if name is None:
                raise _NoConversationsError(f"{path}: the archive has no {_CONVERSATIONS}")
            with archive.open(name) as member:
                yield member
    except _UNREADABLE as error:
        raise InvalidInputError(f"{path}: the archive cannot be read ({error})") from error


@dataclass(slots=True)
class _Version:
    """What tells whether a file was changed."""

    size: int
    at: int

    @classmethod
    def of(cls, path: Path) -> _Version:
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns)


class _WholeReading:
    """A file that is read anew whenever it was changed."""

    def __init__(self, path: Path, source: Source, name: str, report: ImportReport) -> None:
        self._path, self._source, self._name = path, source, name
        self._report = report
        self._read: _Version | None = None
        self.torn = False

    @property
    def done(self) -> int:
        """Bytes that were read so far."""
        return self._read.size if self._read else 0

    def items(self) -> Iterator[Item]:
        """Yield the items of the file, if it was changed since the last call."""
        there = _Version.of(self._path)
        wal = self._path.with_name(f"{self._path.name}-wal")
        if self._source in _DATABASES and wal.exists():
            there = _Version(there.size, max(there.at, wal.stat().st_mtime_ns))
        if there == self._read:
            return
        if self._source in _DATABASES:
            yield from _DATABASES[self._source](self._path, self._name)
        else:
            yield from self._elements()
        self._read = there

    def rest(self, *, ended: bool) -> Iterator[Item]:
        """Yield nothing: the file is read whole."""
        del ended
        yield from ()

    def _elements(self) -> Iterator[Item]:
        plain, name = Plain(self._name, self._report), self._name
        with _stream(self._path) as file:
            for number, raw in enumerate(elements(file), 1):
                value = value_of(raw)
                read = _ELEMENTS.get(self._source)
                if value is None or (read is not None and not isinstance(value, dict)):
                    yield Item(conversation=name, uids=(digest(raw),), kind=UNREADABLE, raw=raw)
                elif read is None:
                    yield from plain.value(value, raw)
                else:
                    yield from self._named(read, value, raw, f"{name}#{number}")

    def _named(
        self,
        read: Callable[[dict[str, Any], str], Iterator[Item]],
        value: dict[str, Any],
        raw: bytes,
        name: str,
    ) -> Iterator[Item]:
        """Yield the items of an element, or the element if its source does not write such ones."""
        if _of_value(value) != self._source:
            yield Item(conversation=name, uids=(digest(raw),), kind="conversation", raw=raw)
            return
        yield from read(value, name)


def size_of(path: Path) -> int:
    """Return the bytes of a file; 0 if it is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
