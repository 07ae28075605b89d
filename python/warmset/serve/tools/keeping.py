"""The tools that bring something in: `append` turns of a conversation, `import` an export."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError
from warmset.receipts import Spooled
from warmset.serve.tools.bounds import words
from warmset.serve.tools.quoting import MOST_NAME
from warmset.serve.tools.schemas import NUMBER, TEXT
from warmset.serve.tools.tool import Call, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from warmset.serve.tools.desk import Desk, Imports

MOST_APPENDED: Final = 1_000
"""The most messages that one call may append."""

_MOST_PATH: Final = 4_096


def append_tool(desk: Desk) -> Tool:
    """Return the tool that stores turns of a conversation."""
    return Tool(
        name="append",
        title="Store turns",
        description="Store messages at the end of a conversation, unchanged. With keys, a message "
        "that was stored under its key is not stored again.",
        properties={
            "conversation": {"type": "string", "description": "Its name; a new one begins it."},
            "messages": {
                "type": "array",
                "items": {"type": "object"},
                "minItems": 1,
                "maxItems": MOST_APPENDED,
                "description": "As the provider takes them.",
            },
            "keys": {
                "type": "array",
                "items": TEXT,
                "description": "Your own name of each message.",
            },
        },
        required=("conversation", "messages"),
        output={
            "ids": {"type": "array", "items": TEXT},
            "stored": {"type": "string", "enum": ["stored", "waiting"]},
        },
        always=("ids", "stored"),
        effect="write",
        run=partial(_append, desk),
    )


def import_tool(desk: Desk, imports: Imports) -> Tool:
    """Return the tool that reads a file into the store."""
    return Tool(
        name="import",
        title="Import an export",
        description="Append what warmset export wrote, with all of its conversations. A "
        "conversation that is in the store already is refused, and nothing is imported.",
        properties={
            "file": {
                "type": "string",
                "description": "The file's name in the directory for imports.",
            },
        },
        required=("file",),
        output={
            "records": NUMBER | {"description": "Records that were imported."},
            "total": NUMBER | {"description": "Records of the file."},
            "vectors": NUMBER | {"description": "Records of vectors left out; they are made anew."},
            "references": NUMBER | {"description": "References to what is not in the file."},
            "redacted": NUMBER | {"description": "Records stored without all of their text."},
        },
        always=("records", "total", "vectors", "references", "redacted"),
        effect="write",
        run=partial(_import, imports, desk),
        text=lambda made: f"Imported {made['records']} of {made['total']} records.",
    )


def _append(desk: Desk, given: dict[str, Any], _call: Call) -> dict[str, Any]:
    name = words(given["conversation"], "conversation", MOST_NAME)
    messages, keys = given["messages"], given.get("keys")
    if not isinstance(messages, list) or not 0 < len(messages) <= MOST_APPENDED:
        raise InvalidInputError(f"messages: expected a list of 1 to {MOST_APPENDED} messages")
    if keys is not None and (not isinstance(keys, list) or len(keys) != len(messages)):
        raise InvalidInputError("keys: expected a list with one for each message")
    made = desk.open().conversation(name).append(messages, key=keys)
    stored = "waiting" if isinstance(made, Spooled) else "stored"
    return {"ids": [f"turn:{id_}" for id_ in made], "stored": stored}


def _import(imports: Imports, desk: Desk, given: dict[str, Any], call: Call) -> dict[str, Any]:
    file = _file_of(imports.directory, given["file"])
    tenant = desk.open().tenant

    def progress(done: int, total: int) -> None:
        call.progress(done, total, "records imported")

    return imports.run(file, tenant, progress)


def _file_of(directory: Path, given: object) -> Path:
    """Return the path of a file in the directory for imports.

    Raises:
        InvalidInputError: The file is elsewhere.
    """
    name = words(given, "file", _MOST_PATH)
    directory = directory.resolve()
    try:
        path = (directory / name).resolve()
        if path.is_relative_to(directory) and path.is_file():
            return path
    except (OSError, ValueError):
        pass  # no path at all, or too long
    raise InvalidInputError(
        "file: there is no such file in the directory for imports; put it there first"
    )
