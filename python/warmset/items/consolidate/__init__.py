"""Keeps the items of a tenant few: archives what is old and unused, merges what says the same.

A plan is made first, and says a reason for everything; nothing is deleted, and all of it can be
restored.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.items.consolidate.plan import Consolidation
    from warmset.items.consolidate.policy import ConsolidationPolicy, Used

__all__ = ["Consolidation", "ConsolidationPolicy", "Used"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "plan": ["Consolidation"],
            "policy": ["ConsolidationPolicy", "Used"],
        },
    )
