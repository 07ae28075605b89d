"""Ingest: appends messages and synchronises lists."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.ingest.append import Beside, append_messages, sync_messages
    from warmset.ingest.entries import keep_entry, newest_turns, read_entries
    from warmset.ingest.shorten import pop_messages, truncate_messages
    from warmset.ingest.turn import Synced, Turn, id_of, read_turn, read_turns

__all__ = [
    "Beside",
    "Synced",
    "Turn",
    "append_messages",
    "id_of",
    "keep_entry",
    "newest_turns",
    "pop_messages",
    "read_entries",
    "read_turn",
    "read_turns",
    "sync_messages",
    "truncate_messages",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "append": ["Beside", "append_messages", "sync_messages"],
            "entries": ["keep_entry", "newest_turns", "read_entries"],
            "shorten": ["pop_messages", "truncate_messages"],
            "turn": ["Synced", "Turn", "id_of", "read_turn", "read_turns"],
        },
    )
