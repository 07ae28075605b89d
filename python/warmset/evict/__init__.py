"""Eviction of whole units: policies decide which messages leave a list so that the rest fits.

What this package promises:

- The result has at most the budget's tokens, by the given counter, or `BudgetTooSmall` is raised
  with need and have.
- Units leave as a whole; protected messages stay; messages that stay are in order, and unchanged
  but for the model's thinking where something before it changed, which is listed.
- Every message is accounted for: those that stayed and those that were evicted are together the
  input, and every message that replaces others is listed.
- A policy reads values and returns edits; only `Desk` applies them.
"""

from warmset.evict.blob_store import BlobStore, OffloadStore
from warmset.evict.collapse import CollapseCalls
from warmset.evict.file_calls import FileKey, by_file
from warmset.evict.fitted import Evicted, FitResult, Inserted
from warmset.evict.fitting import fit
from warmset.evict.offload import OffloadLarge
from warmset.evict.overflow import aretry_on_overflow, is_overflow, retry_on_overflow
from warmset.evict.policies import Chain, HeadTail, Salience, SlidingWindow, TokenBudget
from warmset.evict.summarize import Summarize
from warmset.evict.tool_results import CallKey, ClearToolResults, LatestToolResult
from warmset.evict.view import Edit, Fold, Leave, Note, Policy, Swap, UnitView, View
from warmset.summarize import Summarizer

__all__ = [
    "BlobStore",
    "CallKey",
    "Chain",
    "ClearToolResults",
    "CollapseCalls",
    "Edit",
    "Evicted",
    "FileKey",
    "FitResult",
    "Fold",
    "HeadTail",
    "Inserted",
    "LatestToolResult",
    "Leave",
    "Note",
    "OffloadLarge",
    "OffloadStore",
    "Policy",
    "Salience",
    "SlidingWindow",
    "Summarize",
    "Summarizer",
    "Swap",
    "TokenBudget",
    "UnitView",
    "View",
    "aretry_on_overflow",
    "by_file",
    "fit",
    "is_overflow",
    "retry_on_overflow",
]
