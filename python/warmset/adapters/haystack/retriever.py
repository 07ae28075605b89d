"""`WarmsetEmbeddingRetriever`: the component of a pipeline that searches the document store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset._extras import extra
from warmset.adapters.haystack.document_store import WarmsetDocumentStore
from warmset.errors import InvalidInputError

with extra("haystack"):
    from haystack import component, default_from_dict, default_to_dict
    from haystack.dataclasses import Document
    from haystack.document_stores.types import FilterPolicy
    from haystack.document_stores.types.filter_policy import apply_filter_policy

if TYPE_CHECKING:
    from typing import Self


@component
class WarmsetEmbeddingRetriever:
    """Retrieves the documents whose embeddings are nearest to that of a query.

    Args:
        document_store: The store.
        filters: Which documents, unless a run says otherwise.
        top_k: The most documents.
        scale_score: Whether scores are scaled to 0 to 1.
        return_embedding: Whether documents have their embeddings.
        filter_policy: Whether the filters of a run replace these, or are joined with them.

    Raises:
        ValueError: The store is another one, or `top_k` is not positive.
    """

    def __init__(
        self,
        document_store: WarmsetDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool = False,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, WarmsetDocumentStore):
            found = type(document_store).__name__
            raise InvalidInputError(f"expected a WarmsetDocumentStore, found a {found}")
        if top_k < 1:
            raise InvalidInputError(f"top_k: expected at least 1, found {top_k}")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.scale_score, self.return_embedding = scale_score, return_embedding
        given = filter_policy
        self.filter_policy = FilterPolicy.from_str(given) if isinstance(given, str) else given

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments, so that a pipeline with this component can be saved."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            scale_score=self.scale_score,
            return_embedding=self.return_embedding,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the component that `to_dict` described, and open its store."""
        given = dict(data["init_parameters"])
        if isinstance(given["document_store"], dict):
            given["document_store"] = WarmsetDocumentStore.from_dict(given["document_store"])
        made: Self = default_from_dict(cls, {**data, "init_parameters": given})
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Return the documents, best first, under "documents".

        Args:
            query_embedding: The query's embedding.
            filters: Which documents.
            top_k: The most documents.
            scale_score: Whether scores are scaled to 0 to 1.
            return_embedding: Whether documents have their embeddings.
        """
        given = self._arguments(filters, top_k, scale_score, return_embedding)
        return {"documents": self.document_store.embedding_retrieval(query_embedding, **given)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Run `run` without blocking the loop."""
        given = self._arguments(filters, top_k, scale_score, return_embedding)
        retrieve = self.document_store.embedding_retrieval_async
        return {"documents": await retrieve(query_embedding, **given)}

    def _arguments(
        self,
        filters: dict[str, Any] | None,
        top_k: int | None,
        scale_score: bool | None,
        return_embedding: bool | None,
    ) -> dict[str, Any]:
        """Return the arguments of a run: its own, else those of the component."""
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
            "scale_score": self.scale_score if scale_score is None else scale_score,
            "return_embedding": (
                self.return_embedding if return_embedding is None else return_embedding
            ),
        }
