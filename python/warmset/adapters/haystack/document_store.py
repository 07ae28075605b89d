"""`WarmsetDocumentStore`: documents of Haystack in a store of warmset."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar

from warmset._extras import extra
from warmset._support.aio import in_thread, in_thread_to_the_end
from warmset.adapters._documents import PARTIAL, Shelf
from warmset.adapters.haystack import metadata
from warmset.adapters.haystack.documents import meta_of, read, written
from warmset.adapters.haystack.filters import check, condition_of, matches
from warmset.errors import Conflict, DimensionError, InvalidInputError, StoreError

with extra("haystack"):
    from haystack import default_from_dict, default_to_dict
    from haystack.dataclasses import Document
    from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from typing import Unpack

    from warmset.adapters._documents import Delete, Source, Stored
    from warmset.store.options import StoreKeywords
    from warmset.store.rows import IfPresent

P = ParamSpec("P")
R = TypeVar("R")

_POLICIES: dict[DuplicatePolicy, IfPresent] = {
    DuplicatePolicy.NONE: "fail",
    DuplicatePolicy.FAIL: "fail",
    DuplicatePolicy.SKIP: "skip",
    DuplicatePolicy.OVERWRITE: "replace",
}
_DOT_PRODUCT_SCALE = 100


@contextmanager
def haystacks_errors() -> Iterator[None]:
    """Raise Haystack's error for what a store raises."""
    try:
        yield
    except (StoreError, DimensionError) as error:
        raise DocumentStoreError(str(error)) from error


def later(
    method: Callable[P, R], *, to_the_end: bool = False
) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the asynchronous version of a method, with Haystack's name for it."""
    run_it = in_thread_to_the_end if to_the_end else in_thread

    @functools.wraps(method)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        own: Callable[..., R] = getattr(args[0], method.__name__)
        return await run_it(own, *args[1:], **kwargs)

    run.__doc__ = f"Run `{method.__name__}` in a thread; the same arguments, result and errors."
    run.__name__ = f"{method.__name__}_async"
    run.__qualname__ = run.__qualname__.replace(method.__name__, run.__name__)
    return run


class WarmsetDocumentStore:
    """A document store in a directory, shared by processes, with exact search.

    Args:
        path: The store's directory; or an open `Memory` or `ColdStore`; None keeps everything in
            memory.
        index: The documents that belong together; a store may have many.
        tenant: Whose documents these are; that of the memory, or "default".
        embedding_similarity_function: "cosine" or "dot_product".
        return_embedding: Whether documents that are returned have their embeddings.
        delete: "remove": deleted documents are absent at once, and their bytes go when the store is
            compacted. "erase": their bytes are gone when a deletion returns, which rewrites files.
        options: Options of the store, if it is opened here: `mode`, `durability`, `encryption` and
            the other fields of `StoreOptions`.

    Raises:
        ValueError: An argument cannot be used.
        DocumentStoreError: The store could not be opened.
    """

    def __init__(
        self,
        path: Source = None,
        *,
        index: str = "default",
        tenant: str | None = None,
        embedding_similarity_function: Literal["cosine", "dot_product"] = "cosine",
        return_embedding: bool = True,
        delete: Delete = "remove",
        **options: Unpack[StoreKeywords],
    ) -> None:
        if embedding_similarity_function not in ("cosine", "dot_product"):
            raise InvalidInputError(
                "embedding_similarity_function: expected 'cosine' or 'dot_product', found "
                f"{embedding_similarity_function!r:.80}"
            )
        self.path, self.index, self.tenant = path, index, tenant
        self.embedding_similarity_function = embedding_similarity_function
        self.return_embedding, self.options = return_embedding, options
        with haystacks_errors():
            self.shelf = Shelf(
                path,
                kind="haystack documents",
                collection=index,
                tenant=tenant,
                metric="cosine" if embedding_similarity_function == "cosine" else "ip",
                delete=delete,
                options=options,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments, so that a pipeline with this store can be saved.

        Raises:
            DocumentStoreError: The store was opened elsewhere, or has a key in its arguments.
        """
        if self.path is not None and not isinstance(self.path, (str, os.PathLike)):
            raise DocumentStoreError("only a store that was given by its directory can be saved")
        if isinstance(self.options.get("encryption"), bytes):
            raise DocumentStoreError("a store with a master key in its arguments is not saved")
        return default_to_dict(
            self,
            path=None if self.path is None else os.fspath(self.path),
            index=self.index,
            tenant=self.tenant,
            embedding_similarity_function=self.embedding_similarity_function,
            return_embedding=self.return_embedding,
            delete=self.shelf.delete_by,
            **self.options,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the store that `to_dict` described."""
        made: Self = default_from_dict(cls, data)
        return made

    # --- documents --------------------------------------------------------------------------------

    def count_documents(self) -> int:
        """Return the number of documents."""
        with haystacks_errors():
            return self.shelf.count()

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match filters, in the order in which they were first written.

        Raises:
            ValueError: The filters are no filters.
            FilterError: They are malformed, or compare what cannot be compared.
            DocumentStoreError: The store could not be read.
        """
        return [document for document, _ in self._matching(filters, self.return_embedding)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all or none.

        Args:
            documents: The documents; their metadata must be plain JSON.
            policy: What happens where a document of that id is there; NONE is as FAIL.

        Returns:
            The number of documents that were written.

        Raises:
            ValueError: They are no documents, or one cannot be stored.
            DuplicateDocumentError: A document of that id is there, with FAIL; none was written.
            DocumentStoreError: They could not be stored; none was.
        """
        if isinstance(documents, str) or not isinstance(documents, Iterable):
            raise InvalidInputError("expected a list of documents")
        documents = list(documents)
        if any(not isinstance(document, Document) for document in documents):
            raise InvalidInputError("expected a list of documents")
        with haystacks_errors():
            try:
                outcomes = self.shelf.put(map(written, documents), if_present=_POLICIES[policy])
            except Conflict as error:
                there = documents[error.row].id if error.row is not None else "?"
                raise DuplicateDocumentError(f"ID '{there}' already exists.") from error
        return sum(outcome.status != "present" for outcome in outcomes)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; ids that are not there are none.

        Raises:
            DocumentStoreError: They could not be deleted.
        """
        with haystacks_errors():
            self.shelf.delete(document_ids)

    def delete_all_documents(self) -> None:
        """Delete all documents of the index.

        Raises:
            DocumentStoreError: They could not be deleted.
        """
        with haystacks_errors():
            self.shelf.clear()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match filters, and return their number.

        Raises:
            FilterError: The filters are malformed.
            DocumentStoreError: They could not be deleted.
        """
        found = [stored for _, stored in self._matching(filters, False)]
        with haystacks_errors():
            self.shelf.delete_as_found(found)
        return len(found)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add metadata to the documents that match filters, and return their number.

        Raises:
            FilterError: The filters are malformed.
            DocumentStoreError: The store could not be read or written; nothing changed.
        """
        with haystacks_errors():
            return self.shelf.retried(lambda: self._update(filters, meta))

    def _update(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        found = self._matching(filters, True)
        for document, _ in found:
            document.meta.update(meta)
        self.shelf.put(
            (written(document) for document, _ in found), expect=[stored for _, stored in found]
        )
        return len(found)

    def _matching(
        self, filters: dict[str, Any] | None, embedding: bool
    ) -> list[tuple[Document, Stored]]:
        if filters and "operator" not in filters and "conditions" not in filters:
            raise InvalidInputError(
                "filters need an operator and conditions; see Haystack's page on them"
            )
        if filters:
            check(filters)
        with haystacks_errors():
            found = self.shelf.find(condition_of(filters))
        pairs = [(read(stored), stored) for stored in found]
        wanted = [pair for pair in pairs if matches(filters, pair[0])]
        if not embedding:
            for document, _ in wanted:
                object.__setattr__(document, "embedding", None)
        return wanted

    # --- metadata ---------------------------------------------------------------------------------

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that match filters."""
        return len(self._matching(filters, False)) if filters else self.count_documents()

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return how many different values fields have in the documents that match filters."""
        return metadata.counts(self._metas(filters), metadata_fields)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the fields of the metadata, and the type of each."""
        return metadata.fields_info(self._metas())

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the smallest and the largest value of a field."""
        return metadata.min_max(self._metas(), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the different values of a field, and how many there are.

        Args:
            metadata_field: The field, with or without "meta." before it.
            search_term: A part of the value's text, whatever the case.
            from_: The first value of the page.
            size: The most values.
            filters: Which documents.
        """
        found = metadata.unique(self._metas(filters), metadata_field)
        if search_term:
            found = [value for value in found if search_term.lower() in str(value).lower()]
        return found[from_ : from_ + size], len(found)

    def _metas(self, filters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the metadata of documents; where all of it is columns, nothing else is read."""
        if filters:
            return [document.meta for document, _ in self._matching(filters, False)]
        with haystacks_errors():
            listed = self.shelf.log.scan(self.shelf.prefix, order="born", limit=None)
            read_ = [one.key[-1].decode() for one in listed if PARTIAL in one.columns]
            held = {one.id: meta_of(one) for one in self.shelf.get(read_)}
        return [held.get(one.key[-1].decode(), one.columns) for one in listed]

    # --- searches ---------------------------------------------------------------------------------

    def embedding_retrieval(
        self,
        query_embedding: Sequence[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = None,
    ) -> list[Document]:
        """Return the documents whose embeddings are nearest, best first.

        Args:
            query_embedding: The query's embedding.
            filters: Which documents.
            top_k: The most documents.
            scale_score: Whether scores are scaled to 0 to 1.
            return_embedding: Whether documents have their embeddings; as the store was opened if
                not given.

        Raises:
            ValueError: The embedding is no list of finite numbers.
            FilterError: The filters are malformed.
            DocumentStoreError: The documents have embeddings of another size.
        """
        shown = self.return_embedding if return_embedding is None else return_embedding
        among = None
        if filters:
            among = {stored.cell.version for _, stored in self._matching(filters, False)}
        with haystacks_errors():
            found = self.shelf.search(query_embedding, top_k, among=among)
        return [
            read(one, embedding=shown, score=self._scaled(one.score) if scale_score else one.score)
            for one in found
        ]

    def _scaled(self, score: float) -> float:
        if self.embedding_similarity_function == "cosine":
            return (score + 1) / 2
        return (1 + math.tanh(score / _DOT_PRODUCT_SCALE / 2)) / 2

    # --- asynchronous versions --------------------------------------------------------------------

    count_documents_async = later(count_documents)
    filter_documents_async = later(filter_documents)
    write_documents_async = later(write_documents, to_the_end=True)
    delete_documents_async = later(delete_documents, to_the_end=True)
    delete_all_documents_async = later(delete_all_documents, to_the_end=True)
    delete_by_filter_async = later(delete_by_filter, to_the_end=True)
    update_by_filter_async = later(update_by_filter, to_the_end=True)
    count_documents_by_filter_async = later(count_documents_by_filter)
    count_unique_metadata_by_filter_async = later(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = later(get_metadata_fields_info)
    get_metadata_field_min_max_async = later(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = later(get_metadata_field_unique_values)
    embedding_retrieval_async = later(embedding_retrieval)

    def close(self) -> None:
        """Close the store, unless it was open when it was given."""
        self.shelf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
