"""Haystack's documents as they lie in a store."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from warmset._extras import extra
from warmset.adapters._documents import Stored, Written, as_json, columns_of

with extra("haystack"):
    from haystack.dataclasses import ByteStream, Document, SparseEmbedding

if TYPE_CHECKING:
    from collections.abc import Mapping


def written(document: Document) -> Written:
    """Return a document as it is put.

    Raises:
        InvalidInputError: Its metadata is not plain JSON; it is a `ValueError`.
    """
    body: dict[str, Any] = {"meta": document.meta}
    if document.content is not None:
        body["content"] = document.content
    if document.score is not None:
        body["score"] = document.score
    if document.sparse_embedding is not None:
        body["sparse_embedding"] = document.sparse_embedding.to_dict()
    if (blob := document.blob) is not None:
        data = base64.b64encode(blob.data).decode()
        body["blob"] = {"data": data, "meta": blob.meta, "mime_type": blob.mime_type}
    return Written(
        id=document.id,
        payload=as_json(body, document.id),
        columns=columns_of(document.meta),
        vector=document.embedding,
    )


def read(stored: Stored, *, embedding: bool = True, score: float | None = None) -> Document:
    """Return a document as it was written.

    Args:
        stored: The document in the store.
        embedding: Whether it has its embedding.
        score: Its score, in place of the one that it was written with.
    """
    body = json.loads(stored.payload)
    vector = stored.vector if embedding else None
    sparse = body.get("sparse_embedding")
    return Document(
        id=stored.id,
        content=body.get("content"),
        blob=_blob(body["blob"]) if "blob" in body else None,
        meta=body["meta"],
        score=body.get("score") if score is None else score,
        embedding=None if vector is None else vector.tolist(),
        sparse_embedding=None if sparse is None else SparseEmbedding.from_dict(sparse),
    )


def meta_of(stored: Stored) -> dict[str, Any]:
    """Return the metadata of a document."""
    found: dict[str, Any] = json.loads(stored.payload)["meta"]
    return found


def _blob(body: Mapping[str, Any]) -> ByteStream:
    data = base64.b64decode(body["data"])
    return ByteStream(data=data, meta=body["meta"], mime_type=body["mime_type"])
