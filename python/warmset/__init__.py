"""Virtual memory for the context window of a language model."""

from warmset._core import (
    ColdStore,
    HotIndex,
    Record,
    keep_newest,
    pack,
    pack_batch,
    simd_tier,
    simd_tiers,
)
from warmset.budget import Budget
from warmset.config import Filter, Weights
from warmset.conversation import Conversation
from warmset.counting import TokenCount, count_tokens
from warmset.embed import Embedder, FunctionEmbedder, MiniLM, OpenAIEmbedder
from warmset.errors import WarmsetError
from warmset.hits import Hit
from warmset.memory import Memory
from warmset.pick import Candidate, LLMPicker, Picker
from warmset.turn import Synced, Turn
from warmset.window import Part, Report, Window

__all__ = [
    "Budget",
    "Candidate",
    "ColdStore",
    "Conversation",
    "Embedder",
    "Filter",
    "FunctionEmbedder",
    "Hit",
    "HotIndex",
    "LLMPicker",
    "Memory",
    "MiniLM",
    "OpenAIEmbedder",
    "Part",
    "Picker",
    "Record",
    "Report",
    "Synced",
    "TokenCount",
    "Turn",
    "WarmsetError",
    "Weights",
    "Window",
    "count_tokens",
    "keep_newest",
    "pack",
    "pack_batch",
    "simd_tier",
    "simd_tiers",
]
