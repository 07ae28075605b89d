"""Vectors to search, of three kinds, and queries of the same kind that are not among them.

``isotropic``  every direction alike: nothing to shorten by, the hardest for any head
``like``       drawn, with the energy curve and the neighbourhoods of the local model's vectors
``real``       the local model's vectors of real texts, see `real_vectors`
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import real_vectors

KINDS = ("isotropic", "like", "real")
DIM = 384
BLOCK = 50_000  # rows that are drawn at once

# Measured on 24,000 vectors of sentences. Their mean has a length of 0.30; what each direction adds
# to the squared length of a vector, from the direction of most to that of least:
MEAN = 0.30
PLACES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 320, 383)
ENERGY = (0.015, 0.0323, 0.0302, 0.0244, 0.0164, 0.0105, 0.0061, 0.0037, 0.0019, 0.0011, 0.00056,
          0.00017, 0.00003)  # fmt: skip
# How many groups there are, and how much of a vector is that of its group; each group belongs to
# one of the larger groups before it. Then the best score of a query is about .67 and the twelfth
# .5 among 24,000, as with sentences, and half of all scores are above .08.
GROUPS = ((60, 0.15), (500, 0.30), (20_000, 0.25))


def _unit(rows):
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows


def _like(rng, blocks):
    curve = np.sqrt(np.exp(np.interp(np.arange(DIM), PLACES, np.log(ENERGY)))).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0].astype(np.float32)
    groups, own = np.zeros((1, DIM), np.float32), 1.0
    for count, share in GROUPS:
        fresh = rng.standard_normal((count, DIM), dtype=np.float32) * np.float32(share**0.5)
        groups, own = groups[rng.integers(len(groups), size=count)] + fresh, own - share
    for block in blocks:
        rows = rng.standard_normal(block.shape, dtype=np.float32)
        rows *= np.float32(own**0.5)
        rows += groups[rng.integers(len(groups), size=len(rows))]
        rows *= curve
        rows[:, 0] += np.float32(MEAN)
        block[:] = _unit(rows @ turn)


def _isotropic(rng, blocks):
    for block in blocks:
        block[:] = _unit(rng.standard_normal(block.shape, dtype=np.float32))


def vectors(kind: str, n: int, queries: int, seed: int = 0):
    """Give n unit rows and some queries of their kind that are not among them.

    Raises:
        NoModel: Real ones were not made yet, and the local model is not here.
        ValueError: There are not as many real texts.
    """
    if kind == "real":
        return real_vectors.real(n, queries)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    rows = np.empty((queries + n, DIM), np.float32)
    cuts = [*range(0, len(rows), BLOCK), len(rows)]
    draw = {"isotropic": _isotropic, "like": _like}[kind]
    draw(rng, [rows[start:end] for start, end in pairwise(cuts)])
    return rows[queries:], rows[:queries]
