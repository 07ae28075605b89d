"""The one place that imports the Claude Agent SDK."""

from __future__ import annotations

from warmset._extras import extra

with extra("claude-agent-sdk"):
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
        fold_session_summary,
    )

__all__ = [
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionStore",
    "SessionStoreEntry",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "fold_session_summary",
]
