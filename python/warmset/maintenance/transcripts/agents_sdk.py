"""The sessions of OpenAI's Agents SDK in SQLite: one row an item, of the Responses API.

Tables are known by their columns, because their names are options of the SDK's `SQLiteSession`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmset.maintenance.transcripts.databases import opened, quoted, tables
from warmset.maintenance.transcripts.fields import moment
from warmset.maintenance.transcripts.item import Item
from warmset.maintenance.transcripts.lines import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS: Final = frozenset(("id", "session_id", "message_data"))


def is_agents(columns: dict[str, set[str]]) -> bool:
    """Return whether a database has such a table."""
    return any(found >= _COLUMNS for found in columns.values())


def agents(path: Path, name: str) -> Iterator[Item]:
    """Yield the items of all sessions of a file, in the order in which they were added.

    Args:
        path: The file.
        name: The conversation of rows that name none.
    """
    with opened(path) as connection:
        for table, columns in tables(connection).items():
            if not columns >= _COLUMNS:
                continue
            at = "created_at" if "created_at" in columns else "NULL"
            rows = connection.execute(
                f"SELECT id, session_id, message_data, {at} FROM {quoted(table)} ORDER BY id"  # noqa: S608 - a name of the file, quoted
            )
            for id_, session, data, created in rows:
                raw = data if isinstance(data, bytes) else str(data).encode("utf-8", "replace")
                value = value_of(raw)
                yield Item(
                    conversation=str(session or "") or name,
                    uids=(f"{table}:{id_}",),
                    kind="message" if isinstance(value, dict) else "row",
                    message=value if isinstance(value, dict) else None,
                    raw=raw,
                    at=moment({"at": created}, "at"),
                    meta={"source": "agents-sdk"},
                    dialect="responses",
                )
