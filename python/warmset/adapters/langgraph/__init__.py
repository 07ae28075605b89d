"""LangGraph's checkpointer and store in a log.

Facts of the semantics: langgraph-checkpoint 4.3, and the tests of langgraph-checkpoint-postgres.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.langgraph.saver import WarmsetSaver
    from warmset.adapters.langgraph.store import WarmsetStore

__all__ = ["WarmsetSaver", "WarmsetStore"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "saver": ["WarmsetSaver"],
            "store": ["WarmsetStore"],
        },
    )
