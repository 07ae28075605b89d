"""Which texts of items and queries are embedded, and the vectors of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.adapters.langgraph.framework import (
    PutOp,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)
from warmset.adapters.langgraph.vectors import packed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from warmset.adapters.langgraph.framework import IndexConfig, Op


class Texts:
    """What LangGraph's configuration of an index says about texts.

    Args:
        config: The configuration.
    """

    def __init__(self, config: IndexConfig) -> None:
        given: dict[str, Any] = {**config}
        self.dims = int(given["dims"])
        self.distance = str(given.get("distance_type") or "cosine")
        self.embeddings = ensure_embeddings(given.get("embed"))
        self._fields = _paths(given.get("fields") or ["$"])

    def of(self, op: PutOp) -> list[str]:
        """Return the texts of an item, each once."""
        if op.value is None or op.index is False:
            return []
        fields = self._fields if op.index is None else _paths(op.index)
        found = (text for path in fields for text in get_text_at_path(op.value, path))
        return [*dict.fromkeys(found)]

    def wanted(self, ops: Iterable[Op]) -> list[str]:
        """Return the texts that operations need vectors of, each once."""
        found: dict[str, None] = {}
        for op in ops:
            if isinstance(op, PutOp):
                found.update(dict.fromkeys(self.of(op)))
            elif isinstance(op, SearchOp) and op.query:
                found[op.query] = None
        return [*found]

    def embed(self, texts: list[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of texts."""
        return self._named(texts, self.embeddings.embed_documents(texts) if texts else [])

    async def aembed(self, texts: list[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of texts."""
        return self._named(texts, await self.embeddings.aembed_documents(texts) if texts else [])

    def _named(self, texts: list[str], vectors: Any) -> dict[str, NDArray[np.float32]]:
        if not texts:
            return {}
        return dict(zip(texts, packed(vectors, len(texts), self.dims), strict=True))


def _paths(fields: Iterable[str]) -> list[Any]:
    return [path if path == "$" else tokenize_path(path) for path in fields]
