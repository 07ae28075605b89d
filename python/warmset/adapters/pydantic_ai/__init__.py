"""Pydantic-AI over warmset: a capability that keeps histories and gives each request its window.

Messages that a window shows go out as the objects that they are. Events say when a list is made
anew.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.pydantic_ai.capability import WarmsetHistory
    from warmset.adapters.pydantic_ai.events import CompactionEndEvent, CompactionStartEvent

__all__ = ["CompactionEndEvent", "CompactionStartEvent", "WarmsetHistory"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "capability": ["WarmsetHistory"],
            "events": ["CompactionEndEvent", "CompactionStartEvent"],
        },
    )
