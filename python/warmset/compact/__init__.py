"""Compaction by worth: each turn is scored, the worthiest units stay, what leaves is accounted for.

What this package promises:

- What stays is the caller's own objects, in their order; units stay or leave whole, and what must
  stay stays.
- The same list, options and memories give the same answer.
- Every turn that left has its score, the terms of it, a reason and, with a memory, a handle by
  which it comes back byte for byte.
- A signal that was not there is named with the reason; nothing stands in for it in silence.
"""

from typing import TYPE_CHECKING

from warmset._lazy import lazy

if TYPE_CHECKING:
    from warmset.compact.compacted import (
        CompactionResult,
        CompactStats,
        DroppedMessage,
        DroppedMessages,
        Terms,
    )
    from warmset.compact.context import compact_context
    from warmset.compact.key_turns import KeyTurn, Timeline, timeline
    from warmset.compact.shared import forget_vectors
    from warmset.compact.weights import CompactWeights

__all__ = [
    "CompactStats",
    "CompactWeights",
    "CompactionResult",
    "DroppedMessage",
    "DroppedMessages",
    "KeyTurn",
    "Terms",
    "Timeline",
    "compact_context",
    "forget_vectors",
    "timeline",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "compacted": [
            "CompactionResult",
            "CompactStats",
            "DroppedMessage",
            "DroppedMessages",
            "Terms",
        ],
        "context": ["compact_context"],
        "shared": ["forget_vectors"],
        "key_turns": ["KeyTurn", "Timeline", "timeline"],
        "weights": ["CompactWeights"],
    },
)
