"""Haystack over warmset: a document store, and the retriever that searches it by embeddings.

Documents are durable when they are written, and every process sees them. Filters mean exactly what
Haystack's own mean: its matcher has the last word.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.adapters.haystack.document_store import WarmsetDocumentStore
    from warmset.adapters.haystack.retriever import WarmsetEmbeddingRetriever

__all__ = ["WarmsetDocumentStore", "WarmsetEmbeddingRetriever"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "document_store": ["WarmsetDocumentStore"],
            "retriever": ["WarmsetEmbeddingRetriever"],
        },
    )
