"""SQLite files of other programs: opened to be read, while they may be in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that is not changed.

    Raises:
        InvalidInputError: SQLite cannot read it; the message has its reason.
    """
    try:
        uri = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            yield connection
    except (sqlite3.Error, UnicodeError) as error:  # a damaged name is no text
        raise InvalidInputError(f"{path}: SQLite cannot read it ({error})") from error


def tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the columns of each table."""
    names = [
        str(name)
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    return {
        name: {
            str(column)
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        }
        for name in names
    }


def quoted(name: str) -> str:
    """Return a table's name as it stands in a statement."""
    return '"' + name.replace('"', '""') + '"'
