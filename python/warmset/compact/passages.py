"""Embeds whole texts of any length: one vector for each text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.embed import Embedder, Vectors

_NO_LENGTH: Final = 1e-9


def whole_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts, shape (n, dim): each vector is the normalised mean of the text's passages.

    Args:
        embedder: Makes the vectors.
        texts: At least one text, none of them blank.

    Raises:
        EmbedderError: The embedder failed.
    """
    passages = [embedder.split(text) for text in texts]
    made = embedder.embed([one for parts in passages for one in parts])
    rows = np.empty((len(texts), made.shape[1]), np.float32)
    at = 0
    for number, parts in enumerate(passages):
        own = made[at : at + len(parts)]
        rows[number] = whole_text(own)
        at += len(parts)
    return rows


def whole_text(rows: Vectors) -> Vectors:
    """Return the vector of a text, shape (dim,): the normalised mean of its passages' vectors."""
    if len(rows) == 1:
        one: Vectors = rows[0]
        return one
    whole = rows.astype(np.float64).sum(axis=0)
    length = float(np.sqrt((whole * whole).sum()))
    mean: Vectors = (whole / length).astype(np.float32) if length > _NO_LENGTH else rows[0]
    return mean
