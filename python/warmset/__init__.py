"""Virtual memory for the context window of a language model."""

from warmset._core import (
    ColdStore,
    HotIndex,
    LexicalIndex,
    Record,
    keep_newest,
    pack,
    pack_batch,
    simd_tier,
    simd_tiers,
    terms,
)
from warmset.budget import Budget
from warmset.config import Filter, Weights
from warmset.conversation import Conversation
from warmset.counting import (
    Calibration,
    Counter,
    TokenCount,
    anthropic_counter,
    count_tokens,
    counter,
    gemini_counter,
    openai_counter,
)
from warmset.embed import Embedder, FunctionEmbedder, MiniLM, OpenAIEmbedder
from warmset.errors import WarmsetError
from warmset.evict import (
    Chain,
    ClearToolResults,
    Evicted,
    Fitted,
    HeadTail,
    Inserted,
    LatestToolResult,
    Offload,
    OffloadLarge,
    Policy,
    Salience,
    Shelf,
    SlidingWindow,
    Summarize,
    Summarizer,
    TokenBudget,
    aretry_on_overflow,
    fit,
    retry_on_overflow,
)
from warmset.hits import Hit
from warmset.kept import Kept
from warmset.memory import Memory
from warmset.messages import Repaired, Violation, convert, detect, repair, validate
from warmset.pick import Candidate, LLMPicker, Picker
from warmset.told import Compacted, Removed, Spooled
from warmset.trim import trim_messages
from warmset.turn import Synced, Turn
from warmset.window import Part, Report, Window

__all__ = [
    "Budget",
    "Calibration",
    "Candidate",
    "Chain",
    "ClearToolResults",
    "ColdStore",
    "Compacted",
    "Conversation",
    "Counter",
    "Embedder",
    "Evicted",
    "Filter",
    "Fitted",
    "FunctionEmbedder",
    "HeadTail",
    "Hit",
    "HotIndex",
    "Inserted",
    "Kept",
    "LLMPicker",
    "LatestToolResult",
    "LexicalIndex",
    "Memory",
    "MiniLM",
    "Offload",
    "OffloadLarge",
    "OpenAIEmbedder",
    "Part",
    "Picker",
    "Policy",
    "Record",
    "Removed",
    "Repaired",
    "Report",
    "Salience",
    "Shelf",
    "SlidingWindow",
    "Spooled",
    "Summarize",
    "Summarizer",
    "Synced",
    "TokenBudget",
    "TokenCount",
    "Turn",
    "Violation",
    "WarmsetError",
    "Weights",
    "Window",
    "anthropic_counter",
    "aretry_on_overflow",
    "convert",
    "count_tokens",
    "counter",
    "detect",
    "fit",
    "gemini_counter",
    "keep_newest",
    "openai_counter",
    "pack",
    "pack_batch",
    "repair",
    "retry_on_overflow",
    "simd_tier",
    "simd_tiers",
    "terms",
    "trim_messages",
    "validate",
]
