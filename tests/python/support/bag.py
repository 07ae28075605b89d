"""An embedder without a model: bags of words as vectors."""

from __future__ import annotations

import re
import threading
import zlib
from typing import TYPE_CHECKING

import numpy as np

from warmset.embed.base import checked
from warmset.embed.passages import passages, rough_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warmset.embed import Vectors


SYNONYMS = {"vehicle": "car", "automobile": "car", "begin": "start", "commence": "start"}


class Bag:
    """Bags of words as vectors, hashed, with a few synonyms; it knows what it was asked for.

    It takes the place of a model wherever a test is not about the model.

    Args:
        fingerprint: Its identity; None for what cannot tell.
        dim: Length of a vector.
        remote: Whether it says that texts leave the machine.
        salt: Another salt makes another embedder: its vectors have nothing to do with these.
    """

    def __init__(
        self,
        *,
        fingerprint: str | None = "bag",
        dim: int = 64,
        remote: bool = False,
        salt: str = "",
    ) -> None:
        self.name = f"bag of words {salt}".strip()
        self.fingerprint = fingerprint
        self.dim = dim
        self.remote = remote
        self.salt = salt
        self.calls = 0
        self.texts: list[str] = []
        self.before: Callable[[Sequence[str]], object] = lambda _texts: None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed, after `before` had its chance to raise or to wait."""
        with self._lock:
            self.calls += 1
            self.texts += texts
        self.before(texts)
        return checked([self._row(text) for text in texts], len(texts))

    def embed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed queries like other texts."""
        return self.embed(texts)

    def split(self, text: str) -> list[str]:
        """Cut a text into passages of 150 words."""
        return passages(text, rough_words, limit=150, overlap=30)

    def _row(self, text: str) -> np.ndarray:
        row = np.zeros(self.dim)
        row[0] = 1e-3  # a blank text has a direction too
        for word in re.findall(r"\w+", text.lower()):
            known = f"{self.salt}{SYNONYMS.get(word, word)}".encode("utf-8", "replace")
            row[zlib.crc32(known) % self.dim] += 1
        return row
