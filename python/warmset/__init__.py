"""Virtual memory for the context window of a language model.

This module has what most programs need. The rest is in `warmset.pick`, `warmset.summarize`,
`warmset.embed`, `warmset.messages`, `warmset.tokens`, `warmset.errors`, `warmset.native`,
`warmset.testing`. Names are imported when they are first used, so that importing warmset is cheap.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset import (
        compact as compact,
        embed as embed,
        errors as errors,
        evict as evict,
        items as items,
        messages as messages,
        native as native,
        pick as pick,
        prepare as prepare,
        summarize as summarize,
        testing as testing,
        tokens as tokens,
        tools as tools,
        window as window,
    )
    from warmset._support.version import __version__ as __version__
    from warmset.adapters.langchain import trim_messages
    from warmset.compact import CompactionResult, compact_context
    from warmset.conversation import Conversation
    from warmset.errors import BudgetTooSmall, WarmsetError
    from warmset.evict import (
        BlobStore,
        Chain,
        ClearToolResults,
        CollapseCalls,
        FitResult,
        HeadTail,
        LatestToolResult,
        OffloadLarge,
        Policy,
        Salience,
        SlidingWindow,
        Summarize,
        TokenBudget,
        aretry_on_overflow,
        fit,
        retry_on_overflow,
    )
    from warmset.ingest.turn import Synced, Turn
    from warmset.items.item import MemoryItem
    from warmset.memory import Memory
    from warmset.messages import convert, detect, repair, validate
    from warmset.options import Filter, Weights
    from warmset.prepare import PreparedCompaction
    from warmset.retrieve.hits import Hit
    from warmset.summarize import summary_of
    from warmset.tokens import count_tokens, counter
    from warmset.tokens.budget import Budget
    from warmset.window.cut_result import CutResult
    from warmset.window.result import Report, Window

__all__ = [
    "BlobStore",
    "Budget",
    "BudgetTooSmall",
    "Chain",
    "ClearToolResults",
    "CollapseCalls",
    "CompactionResult",
    "Conversation",
    "CutResult",
    "Filter",
    "FitResult",
    "HeadTail",
    "Hit",
    "LatestToolResult",
    "Memory",
    "MemoryItem",
    "OffloadLarge",
    "Policy",
    "PreparedCompaction",
    "Report",
    "Salience",
    "SlidingWindow",
    "Summarize",
    "Synced",
    "TokenBudget",
    "Turn",
    "WarmsetError",
    "Weights",
    "Window",
    "aretry_on_overflow",
    "compact_context",
    "convert",
    "count_tokens",
    "counter",
    "detect",
    "fit",
    "repair",
    "retry_on_overflow",
    "summary_of",
    "trim_messages",
    "validate",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "_support.version": ["__version__"],
            "adapters.langchain": ["trim_messages"],
            "compact": ["CompactionResult", "compact_context"],
            "conversation": ["Conversation"],
            "embed": [],
            "errors": ["BudgetTooSmall", "WarmsetError"],
            "evict": [
                "BlobStore",
                "Chain",
                "ClearToolResults",
                "CollapseCalls",
                "FitResult",
                "HeadTail",
                "LatestToolResult",
                "OffloadLarge",
                "Policy",
                "Salience",
                "SlidingWindow",
                "Summarize",
                "TokenBudget",
                "aretry_on_overflow",
                "fit",
                "retry_on_overflow",
            ],
            "ingest.turn": ["Synced", "Turn"],
            "items.item": ["MemoryItem"],
            "memory": ["Memory"],
            "messages": ["convert", "detect", "repair", "validate"],
            "native": [],
            "items": [],
            "window": [],
            "options": ["Filter", "Weights"],
            "pick": [],
            "prepare": ["PreparedCompaction"],
            "retrieve.hits": ["Hit"],
            "summarize": ["summary_of"],
            "testing": [],
            "tokens": ["count_tokens", "counter"],
            "tokens.budget": ["Budget"],
            "tools": [],
            "window.cut_result": ["CutResult"],
            "window.result": ["Report", "Window"],
        },
    )
