"""LangChain over warmset: trimming, a vector store, and middleware for agents.

`trim_messages` has the arguments of langchain-core's. Facts of its semantics: langchain-core 1.7,
`langchain_core.messages.utils`. The code is our own; langchain-core need not be installed for
dicts. `WarmsetVectorStore` keeps documents, `WarmsetMiddleware` gives an agent's model calls their
windows.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.langchain.api import trim_messages
    from warmset.adapters.langchain.middleware import (
        WarmsetCompactionMiddleware,
        WarmsetMiddleware,
    )
    from warmset.adapters.langchain.vector_store import WarmsetVectorStore

__all__ = [
    "WarmsetCompactionMiddleware",
    "WarmsetMiddleware",
    "WarmsetVectorStore",
    "trim_messages",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "api": ["trim_messages"],
            "middleware": ["WarmsetCompactionMiddleware", "WarmsetMiddleware"],
            "vector_store": ["WarmsetVectorStore"],
        },
    )
