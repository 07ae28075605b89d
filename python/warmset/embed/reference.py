"""Sentences with known vectors, by which a machine proves that its model works.

The vectors come from a forward pass in numpy f64 that shares no code with this package
(``tests/python/oracle_minilm.py``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset.embed.base import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warmset.embed.artifact import Precision
    from warmset.embed.base import Embedder, Vectors

FLOORS: Final[Mapping[Precision, float]] = {"int8": 0.96, "fp32": 0.99999}
"""The least cosine to its reference that a sentence may have."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Sentences and their vectors.

    Attributes:
        texts: The sentences.
        vectors: Shape (n, 384), unit rows.
    """

    texts: tuple[str, ...]
    vectors: Vectors

    def cosines(self, embedder: Embedder) -> Vectors:
        """Compare an embedder with the references.

        Args:
            embedder: Of 384 dimensions.

        Returns:
            Shape (n,), one cosine a sentence.

        Raises:
            EmbedderError: The embedder failed, or has other dimensions.
        """
        count, dim = self.vectors.shape
        found = checked(embedder.embed(self.texts), count, dim)
        cosines: Vectors = np.einsum("ij,ij->i", found, self.vectors)
        return cosines


def load() -> Reference:
    """Read the references that the package carries."""
    file = resources.files("warmset.embed").joinpath("reference.json")
    entries = json.loads(file.read_text(encoding="utf-8"))
    texts = tuple(entry["text"] for entry in entries)
    return Reference(texts, checked([entry["vector"] for entry in entries], len(texts)))
