"""Windows for frameworks with messages of their own: which of them a window shows as they are.

A framework's messages have more than a provider's dialect can say, so what a window shows unchanged
goes out as the object that came in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters._windows.matching import is_thinking, parted, places, without_thinking
    from warmset.adapters._windows.writers import refuse_provider_compaction

__all__ = ["is_thinking", "parted", "places", "refuse_provider_compaction", "without_thinking"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "matching": ["is_thinking", "parted", "places", "without_thinking"],
            "writers": ["refuse_provider_compaction"],
        },
    )
