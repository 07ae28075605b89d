"""An embedder that caches its vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warmset.embed import checked
from warmset.embed.base import context_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.embed import Embedder, Vectors


class Remembering:
    """An embedder that makes each text's vector once; see `warmset.embed.Embedder`.

    So the baseline dense search uses the memory's own vectors without embedding all turns again.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._made: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The inner one's name."""
        return self._inner.name

    @property
    def fingerprint(self) -> str | None:
        """The inner one's: the vectors are the same."""
        return self._inner.fingerprint

    @property
    def dim(self) -> int | None:
        """The inner one's."""
        return self._inner.dim

    @property
    def remote(self) -> bool:
        """The inner one's."""
        return self._inner.remote

    @property
    def context_share(self) -> float:
        """The inner one's."""
        return context_share(self._inner)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed what was not embedded before; see `Embedder.embed`."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._made]
        self._made.update(zip(fresh, self._inner.embed(fresh), strict=True))
        rows = [self._made[text] for text in texts]
        return checked(np.array(rows, np.float32), len(rows), self.dim)

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries; see `Embedder.embed_query`."""
        return self._inner.embed_query(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into passages; see `Embedder.split`."""
        return self._inner.split(text)
