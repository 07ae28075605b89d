"""The tools that bring something in: `append` turns of a conversation, `import` files."""

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
        title="Import conversations",
        description="Import conversations that other programs keep in files of one directory: "
        "sessions of Claude Code and Codex, exports of ChatGPT and Claude, lists of messages, what "
        "warmset export wrote, and others, known by their content. What was imported before is "
        "left out, also if it was erased since.",
        properties={
            "file": {
                "type": "string",
                "description": "A file in the directory for imports, or a folder; '.' for all.",
            },
            "source": {
                "type": "string",
                "description": "Where it comes from, if its content does not tell.",
            },
            "conversation": {
                "type": "string",
                "description": "For messages that name none; the file's name if left out.",
            },
            "dry_run": {
                "type": "boolean",
                "default": False,
                "description": "Store nothing, and count what would be stored.",
            },
        },
        required=("file",),
        output={
            "messages": NUMBER | {"description": "New messages."},
            "conversations": NUMBER | {"description": "Conversations that got something new."},
            "records": NUMBER | {"description": "New records of exports of warmset."},
            "beside": NUMBER | {"description": "What is no message, and was stored as it stands."},
            "known": NUMBER | {"description": "What was imported before."},
            "erased": NUMBER | {"description": "Left out: its conversation was erased."},
            "left_out": NUMBER | {"description": "What repeats something, or is too long."},
            "redacted": NUMBER | {"description": "Stored without all of its text."},
            "skipped": NUMBER | {"description": "Files of a folder that no source knows."},
            "failed": {"type": "array", "items": TEXT},
        },
        always=(
            "messages",
            "conversations",
            "records",
            "beside",
            "known",
            "erased",
            "left_out",
            "redacted",
            "skipped",
            "failed",
        ),
        effect="write",
        run=partial(_import, imports, desk),
        text=_told,
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
    path = _file_of(imports.directory, given["file"])
    options = {name: one for name, one in given.items() if name != "file"}
    if not isinstance(options.get("dry_run", False), bool):
        raise InvalidInputError("dry_run: expected true or false")
    if "conversation" in options:
        options["conversation"] = words(options["conversation"], "conversation", MOST_NAME)

    def progress(done: int, total: int) -> None:
        call.progress(done, total, "bytes read")

    return imports.run(desk.open(), path, options, progress)


def _told(made: dict[str, Any]) -> str:
    said = f"New: {made['messages']} messages, {made['records']} records of exports"
    counts = ((made["known"], "known"), (made["erased"], "erased"), (made["skipped"], "skipped"))
    said += "".join(f", {count} {what}" for count, what in counts if count)
    return "\n".join([f"{said}.", *(f"Failed: {one}" for one in made["failed"])])


def _file_of(directory: Path, given: object) -> Path:
    """Return the path of a file or folder in the directory for imports, or of itself.

    Raises:
        InvalidInputError: It is elsewhere, or not there.
    """
    name = words(given, "file", _MOST_PATH)
    directory = directory.resolve()
    try:
        path = (directory / name).resolve()
        if path.is_relative_to(directory) and path.exists():
            return path
    except (OSError, ValueError):
        pass  # no path at all, or too long
    raise InvalidInputError(
        "file: there is no such file in the directory for imports; put it there first"
    )
