"""A key for `LatestToolResult`: reads of a file that was read again or changed since."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from warmset.messages import Use

READS: Final = (
    "read",
    "read_file",
    "read_text_file",
    "view",
    "view_file",
    "open",
    "open_file",
    "cat",
    "fs_read",
    "notebook_read",
)
WRITES: Final = (
    "write",
    "write_file",
    "write_to_file",
    "save_file",
    "create",
    "create_file",
    "overwrite_file",
    "append",
    "append_to_file",
    "insert",
    "edit",
    "edit_file",
    "multi_edit",
    "replace",
    "replace_in_file",
    "search_replace",
    "search_and_replace",
    "str_replace",
    "undo_edit",
    "update_file",
    "patch",
    "apply_patch",
    "apply_diff",
    "delete",
    "delete_file",
    "remove_file",
    "fs_write",
    "notebook_edit",
)
PATHS: Final = (
    "path",
    "file_path",
    "absolute_path",
    "relative_path",
    "target_file",
    "filename",
    "file_name",
    "file",
    "notebook_path",
)
COMMANDS: Final = ("command", "action", "operation", "type")
REMARKS: Final = ("description", "explanation", "reason", "reasoning", "thought")

_LONGEST: Final = 64
"""Characters that the name of a command may have."""
_SERVER = re.compile(r"__|[./:]")
"""What stands between the name of a server and the name of its tool."""
_PATCHED = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE
)
"""The files of a patch: in the format of OpenAI's apply_patch, and in unified diffs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKey:
    """Returns the key of a call that reads or changes a file, for `LatestToolResult(key=…)`.

    A read is superseded by a later one of the same part of the file, and by a later change of the
    file; a change by a later change. A call of another tool, without a path, or of a patch of
    several files has no key. Names are compared without regard to case and to what is no letter or
    digit, and without the name of an MCP server before them: "mcp__fs__readFile" is "read_file".

    Args:
        reads: Names of tools and commands that read a file.
        writes: Names of tools and commands that change a file.
        paths: Names of arguments that may have the file's path, the likeliest first.
        commands: Names of arguments that may have the name of a command, as "view" for a text
            editor's tool; a known command counts instead of the tool's name.
        remarks: Names of arguments that do not decide which part of a file is read.

    Raises:
        InvalidInputError: A table is not a collection of names.
    """

    reads: Collection[str] = READS
    writes: Collection[str] = WRITES
    paths: Collection[str] = PATHS
    commands: Collection[str] = COMMANDS
    remarks: Collection[str] = REMARKS

    _tables: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tables: dict[str, tuple[str, ...]] = {}
        for name in ("reads", "writes", "paths", "commands", "remarks"):
            names = getattr(self, name)
            known = isinstance(names, Collection) and not isinstance(names, (str, bytes))
            if not known or not all(isinstance(one, str) for one in names):
                raise InvalidInputError(f"{name}: expected names, found {names!r:.80}")
            tables[name] = tuple(map(_plain, names))
        object.__setattr__(self, "_tables", tables)

    def __call__(self, call: Use, /) -> tuple[str, ...] | None:
        """Return the key of a call: its path, and for a read which part of the file it reads."""
        given = _arguments(call.arguments)
        named = {_plain(name): value for name, value in given.items() if not _is_blank(value)}
        verb, command = self._verb(call.name, named)
        reads = verb in self._tables["reads"]
        if not reads and verb not in self._tables["writes"]:
            return None
        paths = (name for name in self._tables["paths"] if isinstance(named.get(name), str))
        at = next(paths, None)
        path = named[at] if at is not None else None if reads else _patched(call.arguments, given)
        if path is None:
            return None
        path = posixpath.normpath(path.strip().replace("\\", "/"))
        if not reads:
            return "file", path
        beside = {at, command, *self._tables["remarks"]}
        part = {name: value for name, value in named.items() if name not in beside}
        return "file", path, json.dumps(part, sort_keys=True)

    def _verb(self, tool: str, named: Mapping[str, Any]) -> tuple[str, str | None]:
        """Return the plain name of the command or tool, and the argument that has a command."""
        known = {*self._tables["reads"], *self._tables["writes"]}
        for name in self._tables["commands"]:
            value = named.get(name)
            if isinstance(value, str) and len(value) <= _LONGEST and _plain(value) in known:
                return _plain(value), name
        return _plain(_SERVER.split(tool)[-1]), None


def _plain(name: str) -> str:
    return "".join(one for one in name.lower() if one.isalnum())


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # a custom tool's input is any text
        return {}
    return found if isinstance(found, dict) else {}


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _patched(text: str, given: dict[str, Any]) -> str | None:
    """Return the path of the only file that a patch changes; None if there are several."""
    texts = [value for value in given.values() if isinstance(value, str)] or [text]
    found = {one or other for patch in texts for one, other in _PATCHED.findall(patch)}
    return found.pop() if len(found) == 1 else None


by_file: Final = FileKey()
"""The `FileKey` with the tables above: the names of widespread agents' tools."""
