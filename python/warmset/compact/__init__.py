"""Compaction by score: the units with the highest scores stay; every other turn is accounted for.

What this package promises:

- The messages that stay are the caller's own objects, in their order; units stay or leave as a
  whole, and protected messages stay.
- The same list, options and memories give the same result.
- Every dropped turn has its score, the score's terms, a reason and, with a memory, a handle that
  restores it byte for byte.
- Every missing signal is reported with the reason; nothing replaces it silently.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

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

if not TYPE_CHECKING:  # for checkers every other name is an error
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
