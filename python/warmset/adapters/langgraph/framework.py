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
    from langgraph.store.base import (
        BaseStore,
        Embeddings,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
    )

__all__ = [
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "BaseStore",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "Embeddings",
    "GetOp",
    "IndexConfig",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "Op",
    "PutOp",
    "Result",
    "RunnableConfig",
    "SearchItem",
    "SearchOp",
    "SerializerProtocol",
    "TTLConfig",
    "check_namespace",
    "ensure_embeddings",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_text_at_path",
    "is_delta_snapshot",
    "tokenize_path",
]


def is_delta_snapshot(value: Any) -> bool:
    """Return whether a channel's value is the snapshot of a `DeltaChannel`."""
    types = importlib.import_module("langgraph.checkpoint.serde.types")
    made = getattr(types, "_DeltaSnapshot", None)  # not in versions without such channels
    return made is not None and isinstance(value, made)


_check: Any = getattr(
    importlib.import_module("langgraph.store.base"), "validate_op_namespace", None
)


def check_namespace(op: Op) -> None:
    """Raise `InvalidNamespaceError` if an operation names a namespace that LangGraph refuses."""
    if _check is not None:  # not in versions that leave it to their stores
        _check(op)
