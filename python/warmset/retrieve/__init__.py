"""Search: from a question to ranked turns."""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.retrieve.hits import Found, Hit
    from warmset.retrieve.searcher import Searcher

__all__ = [
    "Found",
    "Hit",
    "Searcher",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "hits": ["Found", "Hit"],
            "searcher": ["Searcher"],
        },
    )
