"""The one place that imports LangGraph."""

from __future__ import annotations

import importlib
from typing import Any

from warmset._extras import extra

with extra("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

__all__ = [
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "RunnableConfig",
    "SerializerProtocol",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "is_delta_snapshot",
]


def is_delta_snapshot(value: Any) -> bool:
    """Return whether a channel's value is the snapshot of a `DeltaChannel`."""
    types = importlib.import_module("langgraph.checkpoint.serde.types")
    made = getattr(types, "_DeltaSnapshot", None)  # not in versions without such channels
    return made is not None and isinstance(value, made)
