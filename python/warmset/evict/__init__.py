"""Eviction over units: what leaves a list so that the rest fits, decided by policies.

What this package promises:

- What comes out costs at most the budget, by the counter that was given, or `BudgetTooSmall` says
  need and have.
- Units leave whole; what must stay stays; what stays is unchanged and in order.
- What left is accounted for: survivors and evicted messages together are the input, and whatever
  stands for something is listed.
- A policy sees values and asks for edits; one place carries them out.
"""

from warmset.evict.blob_store import BlobStore, OffloadStore
from warmset.evict.fitted import Evicted, FitResult, Inserted
from warmset.evict.fitting import fit
from warmset.evict.offload import OffloadLarge
from warmset.evict.overflow import aretry_on_overflow, is_overflow, retry_on_overflow
from warmset.evict.policies import Chain, HeadTail, Salience, SlidingWindow, TokenBudget
from warmset.evict.summarize import Summarize
from warmset.evict.tool_results import ClearToolResults, LatestToolResult
from warmset.evict.view import Edit, Fold, Leave, Note, Policy, Swap, UnitView, View
from warmset.summarize import Summarizer

__all__ = [
    "BlobStore",
    "Chain",
    "ClearToolResults",
    "Edit",
    "Evicted",
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
    "fit",
    "is_overflow",
    "retry_on_overflow",
]
