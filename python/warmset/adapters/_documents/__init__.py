"""Documents with vectors in a store: what adapters to document stores and vector stores share.

A document is one cell of a log, so it is durable, seen by every process, and removed or erased like
any other record. The index of its vectors is in memory, follows the log, and is exact: what it
returns is what a scan of all vectors would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters._documents.columns import PARTIAL, columns_of
    from warmset.adapters._documents.opening import Delete, Source, open_log
    from warmset.adapters._documents.shelf import Shelf, Stored, Written, as_json, new_id
    from warmset.adapters._documents.vectors import Metric

__all__ = [
    "PARTIAL",
    "Delete",
    "Metric",
    "Shelf",
    "Source",
    "Stored",
    "Written",
    "as_json",
    "columns_of",
    "new_id",
    "open_log",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "columns": ["PARTIAL", "columns_of"],
            "opening": ["Delete", "Source", "open_log"],
            "shelf": ["Shelf", "Stored", "Written", "as_json", "new_id"],
            "vectors": ["Metric"],
        },
    )
