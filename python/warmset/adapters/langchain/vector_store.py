"""`WarmsetVectorStore`: documents and vectors of LangChain in a store of warmset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from warmset._extras import extra
from warmset._support.aio import in_thread, in_thread_to_the_end
from warmset.adapters._documents import Shelf
from warmset.adapters.langchain.documents import fulfils, read, written
from warmset.errors import InvalidInputError

with extra("langchain"):
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    from warmset.adapters._documents import Delete, Metric, Source, Stored
    from warmset.adapters.langchain.documents import Wanted
    from warmset.store.options import StoreKeywords

_FEWEST = 64
"""Documents that are read at once where a function filters them."""


class WarmsetVectorStore(VectorStore):
    """A vector store in a directory, shared by processes, with exact search.

    Documents are durable when a method that adds them returns, and every search sees what other
    handles and processes wrote before it. Vectors are searched in memory; they are read from the
    store by the first search.

    Args:
        embedding: Makes the vectors of documents and queries.
        path: The store's directory; or an open `Memory` or `ColdStore`, whose store also has
            conversations then; None keeps everything in memory.
        collection: The documents that belong together; a store may have many collections.
        tenant: Whose documents these are; that of the memory, or "default".
        metric: "cosine", or "ip" for the inner product.
        delete: "remove": deleted documents are absent at once, and their bytes go when the store is
            compacted. "erase": their bytes are gone when a deletion returns, which rewrites files.
        options: Options of the store, if it is opened here: `mode`, `durability`, `encryption` and
            the other fields of `StoreOptions`.

    Raises:
        InvalidInputError: An argument cannot be used; it is a `ValueError`.
        StoreError: The store could not be opened.
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: Source = None,
        *,
        collection: str = "default",
        tenant: str | None = None,
        metric: Metric = "cosine",
        delete: Delete = "remove",
        **options: Unpack[StoreKeywords],
    ) -> None:
        self.embedding = embedding
        self.shelf = Shelf(
            path,
            kind="langchain documents",
            collection=collection,
            tenant=tenant,
            metric=metric,
            delete=delete,
            options=options,
        )

    @property
    def embeddings(self) -> Embeddings:
        """What makes the vectors."""
        return self.embedding

    # --- documents --------------------------------------------------------------------------------

    def add_documents(
        self, documents: list[Document], ids: list[str] | None = None, **_: Any
    ) -> list[str]:
        """Add documents, all or none; one of the same id is replaced.

        Args:
            documents: The documents; their metadata must be plain JSON.
            ids: Their ids, in place of their own.

        Returns:
            Their ids.

        Raises:
            InvalidInputError: The ids are too few or too many, metadata is not plain JSON, or a
                vector is not finite.
            StoreError: They could not be stored.
        """
        documents = list(documents)
        vectors = self.embedding.embed_documents([one.page_content for one in documents])
        return self._put(documents, ids, vectors)

    async def aadd_documents(
        self, documents: list[Document], ids: list[str] | None = None, **_: Any
    ) -> list[str]:
        """Run `add_documents` in a thread; whoever is cancelled waits until it has ended."""
        documents = list(documents)
        vectors = await self.embedding.aembed_documents([one.page_content for one in documents])
        return await in_thread_to_the_end(self._put, documents, ids, vectors)

    def _put(
        self,
        documents: Sequence[Document],
        ids: Sequence[str] | None,
        vectors: Sequence[Sequence[float]],
    ) -> list[str]:
        rows = written(documents, ids, vectors)
        self.shelf.put(rows)
        return [row.id for row in rows]

    def delete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """Delete documents; ids that are not there are none.

        Args:
            ids: Their ids; None deletes all documents of the collection, an empty list none.

        Returns:
            True.

        Raises:
            StoreError: They could not be deleted.
        """
        if ids is None:
            self.shelf.clear()
        else:
            self.shelf.delete(ids)
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **_: Any) -> bool:
        """Run `delete` in a thread; whoever is cancelled waits until it has ended."""
        return await in_thread_to_the_end(self.delete, ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by their ids, in that order; those that are not there are left out."""
        return list(map(read, self.shelf.get(ids)))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Run `get_by_ids` in a thread."""
        return await in_thread(self.get_by_ids, ids)

    # --- searches ---------------------------------------------------------------------------------

    def _found(self, vector: Sequence[float], k: int, wanted: Wanted) -> list[Stored]:
        """Return the nearest documents that are wanted, best first."""
        if wanted is None:
            return self.shelf.search(vector, k)
        if isinstance(wanted, Mapping):
            among = self.shelf.versions(wanted, lambda one: fulfils(wanted, one))
            return self.shelf.search(vector, k, among=among)
        if not callable(wanted):
            raise InvalidInputError(f"filter: expected a mapping or a function, found {wanted!r}")
        reach = max(4 * k, _FEWEST)
        while True:
            near = self.shelf.search(vector, reach)
            kept = [one for one in near if wanted(read(one))]
            if len(kept) >= k or len(near) < reach:
                return kept[:k]
            reach *= 4

    def similarity_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Wanted = None,  # noqa: A002 - LangChain's name
        **_: Any,
    ) -> list[tuple[Document, float]]:
        """Return the nearest documents with their scores, best first.

        Args:
            embedding: The query's vector.
            k: The most documents.
            filter: Which documents: a condition on their metadata as `Log.scan` takes it, also in
                the way of MongoDB, `{"year": {"$gte": 2024}}`; or a function of a document.

        Returns:
            Documents and scores: the cosine, or the inner product.

        Raises:
            InvalidInputError: The vector or the condition cannot be used.
            StoreError: The store could not be read.
        """
        return [(read(one), one.score) for one in self._found(embedding, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Embed a text, and call `similarity_search_with_score_by_vector`."""
        vector = self.embedding.embed_query(query)
        return self.similarity_search_with_score_by_vector(vector, k, **kwargs)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Run `similarity_search_with_score` without blocking the loop."""
        vector = await self.embedding.aembed_query(query)
        return await in_thread(self.similarity_search_with_score_by_vector, vector, k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the nearest documents, best first."""
        found = self.similarity_search_with_score_by_vector(embedding, k, **kwargs)
        return [document for document, _ in found]

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Run `similarity_search_by_vector` in a thread."""
        return await in_thread(self.similarity_search_by_vector, embedding, k, **kwargs)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Embed a text, and return the nearest documents, best first."""
        return [one for one, _ in self.similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Run `similarity_search` without blocking the loop."""
        return [one for one, _ in await self.asimilarity_search_with_score(query, k, **kwargs)]

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Wanted = None,  # noqa: A002 - LangChain's name
        **_: Any,
    ) -> list[Document]:
        """Return documents that are near the query and not near each other.

        Args:
            embedding: The query's vector.
            k: The most documents.
            fetch_k: How many of the nearest are chosen from.
            lambda_mult: 1 for the nearest, 0 for those that differ most.
            filter: See `similarity_search_with_score_by_vector`.
        """
        near = self._found(embedding, fetch_k, filter)
        vectors: Any = [np.asarray(one.vector, dtype=np.float32) for one in near]
        query = np.asarray(embedding, dtype=np.float32)
        chosen = maximal_marginal_relevance(query, vectors, k=k, lambda_mult=lambda_mult)
        return [read(near[at]) for at in chosen]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Embed a text, and call `max_marginal_relevance_search_by_vector`."""
        vector = self.embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, **kwargs
        )

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Run `max_marginal_relevance_search` without blocking the loop."""
        vector = await self.embedding.aembed_query(query)
        search = self.max_marginal_relevance_search_by_vector
        return await in_thread(search, vector, k, fetch_k, lambda_mult, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """Map scores of unit vectors, from -1 to 1, to relevance from 0 to 1."""
        return lambda score: min(1.0, max(0.0, (1.0 + score) / 2.0))

    # --- stores -----------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open a store with the arguments of the class, and add texts to it."""
        made = cls(embedding, **kwargs)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Run `from_texts` without blocking the loop."""
        made = await in_thread(lambda: cls(embedding, **kwargs))
        await made.aadd_texts(texts, metadatas, ids=ids)
        return made

    def close(self) -> None:
        """Close the store, unless it was open when it was given."""
        self.shelf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
