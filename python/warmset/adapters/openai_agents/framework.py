"""The one place that imports the OpenAI Agents SDK."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from warmset._extras import extra

with extra("openai-agents"):
    from agents.memory import SessionABC, SessionSettings
    from agents.run import CallModelData, ModelInputData

__all__ = [
    "CallModelData",
    "ModelInputData",
    "SessionABC",
    "SessionSettings",
    "settings_of",
    "snapshot",
]

if TYPE_CHECKING:
    from collections.abc import Mapping


def settings_of(given: SessionSettings | Mapping[str, Any] | None) -> SessionSettings:
    """Return the settings of a session; the SDK raises `TypeError` for what it does not know."""
    if given is None or isinstance(given, SessionSettings):
        return given or SessionSettings()
    module = importlib.import_module("agents.memory.session_settings")
    coerce = getattr(module, "coerce_session_settings", None)
    made: SessionSettings = coerce(dict(given)) if coerce else SessionSettings(**given)
    return made


def snapshot(items: list[Any], *, complete: bool, replace: Any) -> Any | None:
    """Return what the SDK's compaction reads; None if this version of the SDK has no such thing.

    Args:
        items: The last items of a session.
        complete: Whether these are all.
        replace: Replaces them from a position on, and returns whether it did.
    """
    made = getattr(importlib.import_module("agents.memory.session"), "_CompactionSnapshot", None)
    return None if made is None else made(items, complete, replace)
