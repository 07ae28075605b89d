"""Counts files that an agent reads again soon after its host compacted the conversation.

It read them before, and what they say was lost from its window: the figure says how much of a
compaction had to be made good.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from warmset.maintenance.transcripts.report import ImportReport

WITHIN: Final = 24
"""How many tool calls after a compaction count."""

_READERS: Final = frozenset(("read", "notebookread", "read_file", "view", "open_file", "view_file"))
_SHELLS: Final = frozenset(
    ("bash", "shell", "exec_command", "shell_command", "local_shell", "container.exec")
)
_PATHS: Final = ("file_path", "notebook_path", "path", "target_file", "filename")
_SHOWS: Final = frozenset(("cat", "head", "tail", "nl", "less", "more", "sed", "bat"))
_SCRIPT: Final = re.compile(r"[\d,$pq; ]+")
"""What stands between `sed -n` and the file."""

_FILES: Final = 100_000
"""How many files of a conversation are remembered."""


class Rereads:
    """The tool calls of one conversation, in order.

    Args:
        report: What is counted.
    """

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._read: set[str] = set()
        self._before: set[str] = set()
        self._left = 0

    def compacted(self) -> None:
        """Take note that the conversation was compacted here."""
        self._report.compactions += 1
        self._before = set(self._read)
        self._left = WITHIN

    def called(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Take note of a tool call."""
        self._report.calls += 1
        for path in files_read(tool, arguments):
            if self._left and path in self._before:
                self._before.discard(path)
                self._report.rereads += 1
            if len(self._read) < _FILES:
                self._read.add(path)
        self._left = max(self._left - 1, 0)


def files_read(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a tool call reads, by the names that agents' tools have."""
    name = tool.casefold()
    if name in _READERS:
        found = next((arguments[key] for key in _PATHS if key in arguments), None)
        if isinstance(found, str):
            yield found
    elif name in _SHELLS:
        command = arguments.get("command", arguments.get("cmd"))
        if isinstance(command, list):  # ["bash", "-lc", "cat file"]
            command = command[-1] if command else ""
        if isinstance(command, str):
            yield from _shown(command)


def _shown(command: str) -> Iterator[str]:
    for part in re.split(r"&&|\|\||[;|\n]", command[:10_000]):
        try:
            words = shlex.split(part)
        except ValueError:
            continue
        if words and words[0] in _SHOWS and (words[0] != "sed" or "-n" in words):
            named = [word for word in words[1:] if not word.startswith(("-", "<", ">"))]
            yield from (word for word in named if not _SCRIPT.fullmatch(word))
