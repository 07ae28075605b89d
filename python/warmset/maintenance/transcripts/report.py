"""What an import did, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The counts of an import; they are correct even after an error.

    Args:
        files: Files that were read, by the name of their source.
        skipped: Files of a directory that no source knows.
        failed: What kept a file from being read to its end, by its name.
        conversations: Conversations that got something new.
        side_chains: Those among them that are side chains of others.
        messages: New messages.
        records: New records of exports of warmset.
        kept: What is no message and was stored verbatim, by what the source calls it.
        left_out: What is no message and was not stored, because it only repeats something.
        unreadable: Lines that are no JSON object in UTF-8, stored verbatim.
        known: What was imported before.
        erased: What was not brought back, because its conversation was erased.
        too_long: Lines that are longer than a turn may be, and were not stored.
        redacted: Items that were stored without all of their text.
        unplaced: Messages that follow one which is not in the store; they stand at the end.
        torn: Files that end in the middle of a line, which waits for its rest.
        compactions: Places where the agent's host compacted the conversation.
        calls: Tool calls.
        rereads: Files that were read again within 24 tool calls of a compaction.
        dry: Whether nothing was stored.
    """

    files: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    conversations: int = 0
    side_chains: int = 0
    messages: int = 0
    records: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    known: int = 0
    erased: int = 0
    too_long: int = 0
    redacted: int = 0
    unplaced: int = 0
    torn: int = 0
    compactions: int = 0
    calls: int = 0
    rereads: int = 0
    dry: bool = False

    @property
    def new(self) -> int:
        """What was stored: messages, what was kept verbatim, and records."""
        return self.messages + self.kept.total() + self.unreadable + self.records

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        found = {name: getattr(self, name) for name in self.__slots__}
        shown = {
            name: dict(value) if isinstance(value, Counter) else value
            for name, value in found.items()
        }
        return {"new": self.new, **shown}
