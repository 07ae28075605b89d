"""What is measured on: that of `warmset bench`, and vectors of real texts. The same at each run."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from warmset.embed import MiniLM
from warmset.embed.weights import resolve
from warmset.errors import WarmsetError
from warmset.lab.bench.material import (
    DIM,
    PARTS,
    QUERIES,
    conversation,
    corpus,
    hashed,
    texts,
    unit,
    vectors as drawn,
)

__all__ = [
    "DIM",
    "KINDS",
    "PARTS",
    "QUERIES",
    "NoModel",
    "conversation",
    "corpus",
    "hashed",
    "texts",
    "unit",
    "vectors",
]

KINDS = ("isotropic", "clustered", "real")


class NoModel(Exception):  # noqa: N818 - a reason to skip, not a fault
    """The local model is not on this machine, so there are no real vectors."""


@cache
def vectors(kind: str, n: int, dim: int = DIM):
    """Give n unit rows and 64 queries of their kind that are not among them.

    Raises:
        NoModel: They are to be real, and the model is not here.
    """
    return _real(n) if kind == "real" else drawn.__wrapped__(kind, n, dim)


def _real(n):
    """Vectors that the local model makes of real texts; kept, because making 10,000 takes a minute.

    Raises:
        NoModel: The model is not here.
    """
    lines = texts(n + QUERIES)
    name = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"warmset-bench-{name}.npy"
    if not path.exists():
        try:
            model = MiniLM(path=resolve(sources={}).tensors.parent)
        except WarmsetError as error:
            raise NoModel(str(error)) from error
        made = np.concatenate([model.embed(lines[at : at + 64]) for at in range(0, len(lines), 64)])
        draft = path.with_suffix(".part.npy")
        np.save(draft, unit(made))
        draft.rename(path)
    rows = np.load(path)
    return rows[:n], rows[n:]
