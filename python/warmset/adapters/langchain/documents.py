"""LangChain's documents as they lie in a store, and the filters of a search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from warmset._core import turns_where
from warmset._extras import extra
from warmset.adapters._documents import Stored, Written, as_json, columns_of, new_id
from warmset.errors import InvalidInputError

with extra("langchain"):
    from langchain_core.documents import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Wanted: TypeAlias = "Mapping[str, Any] | Callable[[Document], bool] | None"
"""Which documents: a condition on metadata, or a function; None for all."""


def written(
    documents: Sequence[Document], ids: Sequence[str] | None, vectors: Sequence[Sequence[float]]
) -> list[Written]:
    """Return documents as they are put; those without an id get one.

    Raises:
        InvalidInputError: There are not as many ids or vectors as documents, or metadata is no
            plain JSON.
    """
    if ids and len(ids) != len(documents):
        raise InvalidInputError(
            f"ids must be the same length as texts. Got {len(ids)} ids and {len(documents)} texts."
        )
    if len(vectors) != len(documents):
        raise InvalidInputError(
            f"the embeddings made {len(vectors)} vectors of {len(documents)} texts"
        )
    made = []
    names: Sequence[str | None] = ids or [None] * len(documents)
    for one, given, vector in zip(documents, names, vectors, strict=True):
        id_ = given or one.id or new_id()
        body = {"page_content": one.page_content, "meta": _named(one.metadata, id_)}
        columns = columns_of(one.metadata)
        made.append(Written(id=id_, payload=as_json(body, id_), columns=columns, vector=vector))
    return made


def _named(metadata: dict[Any, Any], id_: str) -> dict[str, Any]:
    """Return metadata whose keys JSON would not change.

    Raises:
        InvalidInputError: A key is no text.
    """
    for key in metadata:
        if not isinstance(key, str):
            raise InvalidInputError(f"document {id_!r:.80}: expected texts as keys, found {key!r}")
    return metadata


def read(stored: Stored) -> Document:
    """Return a document as it was added, with its id."""
    body = json.loads(stored.payload)
    return Document(id=stored.id, page_content=body["page_content"], metadata=body["meta"])


def fulfils(where: Mapping[str, Any], stored: Stored) -> bool:
    """Tell whether the metadata of a document fulfils a condition."""
    return turns_where(where, [stored.payload])[0]
