"""A small index of words, with which a hook recalls by itself; derived from the store.

It is a file of SQLite's full-text search, for one process to write and any number to read. It is a
cache: every erasure of the store deletes it, an encrypted store has none, and the helper makes it
anew.
"""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from warmset.serve.hooks import files
from warmset.serve.hooks.recalled import Recalled, has_enough, passage, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION: Final = 1
MOST_TEXT: Final = 2_000
"""Characters of a turn that are in the index."""

_RAREST: Final = 6
"""How many terms are searched for: the rarest of the prompt."""

_COMMON: Final = 0.05
_FEW: Final = 50
"""A term that more than this share of texts have, and more than a few, is not searched for."""

_CANDIDATES: Final = 24
_BUSY: Final = 0.1
_STEPS: Final = 200_000
"""Steps of SQLite's machine that a search may take, in hundreds: an ordinary one takes a few."""

_SCHEMA: Final = """
CREATE VIRTUAL TABLE said USING fts5(
    text, name UNINDEXED, origin UNINDEXED, conversation UNINDEXED, at UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE terms USING fts5vocab(said, 'row');
CREATE TABLE about (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""


class Said(NamedTuple):
    """A text of the store.

    Args:
        id: The id of its record.
        name: See `Recalled`.
        origin: Whose words these are.
        conversation: The name of its conversation.
        at: When it was said, in seconds since 1970 UTC.
        text: The text.
    """

    id: int
    name: str
    origin: str
    conversation: str
    at: float
    text: str


class Words:
    """Recalls by words alone; see `Recalls`.

    Args:
        path: The file. If it is not there, nothing is found.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(
        self, query: str, /, *, skip: frozenset[str], without: str | None, most: int
    ) -> list[Recalled]:
        """Return what answers a query; see `Recalls`.

        Raises:
            sqlite3.Error: The file is damaged, or another process writes it for too long.
        """
        terms = terms_of(query)
        if not terms or not os.path.exists(self._path):
            return []
        with _opened(self._path, write=False) as made:
            made.set_progress_handler(_Limit(_STEPS), 100)
            return _found(made, terms, skip=skip, without=without, most=most)


def last(path: str) -> int | None:
    """Return the id of the last record in the index; None if there is no index.

    Raises:
        sqlite3.Error: The file is damaged.
    """
    if not os.path.exists(path):
        return None
    with _opened(path, write=False) as made:
        rows = dict(made.execute("SELECT key, value FROM about"))
    return rows.get("last") if rows.get("version") == VERSION else None


def create(path: str, said: Iterable[Said]) -> None:
    """Make the index anew; a reader finds the old one or the new one.

    An erasure deletes the folder, and with it what is being made: then nothing takes its place.

    Args:
        path: The file.
        said: All texts, in any order.

    Raises:
        OSError: The folder was deleted meanwhile, or cannot be written.
        sqlite3.Error: It cannot be written.
    """
    files.folder(os.path.dirname(path))
    beside = f"{path}.{os.getpid()}.new"
    if os.path.exists(beside):
        os.unlink(beside)
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.NO_LINKS, files.MODE))
    with _opened(beside, write=True) as made:
        made.execute("PRAGMA journal_mode = OFF")
        made.execute("PRAGMA synchronous = OFF")
        made.executescript(_SCHEMA)
        with made:
            _insert(made, said)
    os.replace(beside, path)


def extend(path: str, said: Iterable[Said]) -> None:
    """Add texts to the index.

    Raises:
        sqlite3.Error: It cannot be written; it is as it was.
    """
    with _opened(path, write=True) as made, made:
        _insert(made, said)


def _insert(made: sqlite3.Connection, said: Iterable[Said]) -> None:
    highest = 0
    for one in said:
        row = (one.id, one.text[:MOST_TEXT], one.name, one.origin, one.conversation, one.at)
        made.execute(
            "INSERT OR REPLACE INTO said (rowid, text, name, origin, conversation, at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
        highest = max(highest, one.id)
    made.execute("INSERT OR REPLACE INTO about VALUES ('version', ?)", (VERSION,))
    made.execute(
        "INSERT INTO about VALUES ('last', ?)"
        " ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
        (highest,),
    )
    [(texts,)] = made.execute("SELECT count(*) FROM said_docsize")
    made.execute("INSERT OR REPLACE INTO about VALUES ('texts', ?)", (texts,))


@contextmanager
def _opened(path: str, *, write: bool) -> Iterator[sqlite3.Connection]:
    mode = "rw" if write else "ro"
    where = f"file:{quote(path, errors='surrogateescape')}?mode={mode}"
    with closing(sqlite3.connect(where, uri=True, timeout=_BUSY)) as made:
        yield made


class _Limit:
    """Stops a search that takes too many steps."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self) -> int:
        self._left -= 1
        return int(self._left < 0)


def _found(
    made: sqlite3.Connection,
    terms: list[str],
    *,
    skip: frozenset[str],
    without: str | None,
    most: int,
) -> list[Recalled]:
    about = dict(made.execute("SELECT key, value FROM about"))
    if about.get("version") != VERSION:
        return []
    limit = max(_FEW, int(about.get("texts", 0) * _COMMON))
    counted: list[tuple[int, str]] = []
    for part in dict.fromkeys(part for term in terms for part in _parts(term)):
        row = made.execute("SELECT doc FROM terms WHERE term = ?", (part,)).fetchone()
        if row is not None and row[0] <= limit:
            counted.append((row[0], part))
    if not counted:
        return []
    wanted = " OR ".join(f'"{part}"' for _, part in sorted(counted)[:_RAREST])
    rows = made.execute(
        "SELECT name, origin, conversation, at, text FROM said WHERE said MATCH ?"
        " ORDER BY rank, rowid LIMIT ?",
        (wanted, _CANDIDATES + len(skip)),
    )
    found: list[Recalled] = []
    for name, origin, conversation, at, text in rows:
        if name not in skip and conversation != without and has_enough(text, terms):
            found.append(Recalled(name, origin, float(at), passage(text, terms)))
            if len(found) == most:
                break
    return found


def _parts(term: str) -> list[str]:
    """Return the tokens that the index has for a word: letters without marks, and digits."""
    plain = "".join(
        one for one in unicodedata.normalize("NFKD", term) if not unicodedata.combining(one)
    )
    return "".join(one if one.isalnum() else " " for one in plain.lower()).split()
