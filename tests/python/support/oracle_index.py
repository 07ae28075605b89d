"""The canonical sum, the unit length and the search, in numpy: too simple to be wrong.

It shares no code with the core; what it repeats are the definitions in `simd` and in `HotIndex`.
"""

from __future__ import annotations

import numpy as np

LANES = 16


def blocks(rows):
    """Pad rows with zeros to whole blocks of sixteen lanes."""
    rows = np.asarray(rows, np.float32)
    tail = -rows.shape[1] % LANES
    return np.pad(rows, ((0, 0), (0, tail))).reshape(len(rows), -1, LANES)


def scores(query, rows):
    """Score each row: multiply, then add, both rounded to float32, then the tree 8, 4, 2, 1."""
    x, y = blocks(rows), blocks([query])
    acc = np.zeros((len(x), LANES), np.float32)
    for block in range(x.shape[1]):
        acc = acc + x[:, block] * y[:, block]
    for width in (8, 4, 2, 1):
        acc = acc[:, :width] + acc[:, width : 2 * width]
    return acc[:, 0]


class Scan:
    """`scores` of the same rows for many queries: the same sums in the same order, rows abreast."""

    def __init__(self, rows, part=1024):
        cuts = range(0, len(rows), part)
        # (blocks, lanes, rows), so that numpy's inner loop runs over rows.
        self._parts = [blocks(rows[at : at + part]).transpose(1, 2, 0).copy() for at in cuts]

    def scores(self, query):
        """Score each row."""
        (query,) = blocks([query])
        found = [np.empty(0, np.float32)]
        for part in self._parts:
            acc = np.zeros(part.shape[1:], np.float32)
            product = np.empty_like(acc)
            for x, y in zip(part, query[:, :, None], strict=True):
                np.multiply(x, y, out=product)
                np.add(acc, product, out=acc)
            for width in (8, 4, 2, 1):
                acc = acc[:width] + acc[width : 2 * width]
            found.append(acc[0])
        return np.concatenate(found)

    def best(self, ids, query, k):
        """Rank the rows; those below the k-th score are left out before the sorting."""
        found = self.scores(query)
        least = np.partition(found, -k)[-k] if k < len(found) else -np.inf
        return best(ids[found >= least], found[found >= least], k)


def unit(rows):
    """Bring rows to length one: the norm in float64 from left to right, one rounding at the end.

    A row whose norm is within a millionth of one stays as it is.
    """
    rows = np.asarray(rows, np.float32)
    wide = rows.astype(np.float64)
    norm = np.sqrt(np.add.accumulate(wide * wide, axis=1)[:, -1:])
    return np.where(abs(norm - 1) <= 1e-6, rows, (wide / norm).astype(np.float32))


def prepared(rows, metric):
    """Make of rows what the metric compares."""
    rows = np.asarray(rows, np.float32)
    return unit(rows) if metric == "cosine" and len(rows) else rows


def best(ids, found, k):
    """Rank by score descending, then by id ascending."""
    order = np.lexsort((ids, -found))[:k]
    return ids[order], found[order]


def search(ids, rows, query, k, metric):
    """Search by brute force."""
    (query,) = prepared([query], metric)
    return best(np.asarray(ids, np.uint64), scores(query, prepared(rows, metric)), k)


def hard_rows(rng, n, dim, metric):
    """Rows with duplicates, neighbours one ulp apart, denormals, one dominant value, unit rows."""
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    for at in range(n):
        of = int(rng.integers(at + 1))
        match rng.integers(8):
            case 0:
                rows[at] = rows[of]
            case 1:
                one = int(rng.integers(dim))
                rows[at] = rows[of]
                rows[at, one] = np.nextafter(rows[at, one], np.float32(9))
            case 2:
                rows[at] *= np.float32(1e-40)
                rows[at, 0] = np.float32(1e-45)
            case 3:
                rows[at] *= np.float32(1e-3)
                rows[at, int(rng.integers(dim))] = 3e15
            case 4:
                rows[at] = unit(rows[at : at + 1])[0]
            case 5 if metric == "ip":
                rows[at] = 0
            case _:
                pass
    return rows


def hard_queries(rng, n, rows):
    """Queries that equal a row, or are like rows, or point along one axis."""
    dim = rows.shape[1]
    queries = hard_rows(rng, n, dim, "cosine")
    for at in range(0, n, 4):
        queries[at] = rows[int(rng.integers(len(rows)))]
    for at in range(1, n, 8):
        queries[at] = 0
        queries[at, int(rng.integers(dim))] = -1
    queries[~queries.any(axis=1), 0] = 1
    return queries


def hard_ids(rng, n):
    """Unordered ids, the largest among them, no two the same."""
    ids = np.unique(rng.integers(2**64 - 1, size=2 * n + 2, dtype=np.uint64))[: max(n - 1, 0)]
    ids = np.append(ids, np.uint64(2**64 - 1))[:n]
    return rng.permutation(ids)


def same(found, expected):
    """Tell whether ids and the bits of scores are the same, -0.0 and 0.0 apart."""
    return (
        found[0].dtype == np.uint64
        and found[1].dtype == np.float32
        and np.array_equal(found[0], expected[0])
        and np.array_equal(found[1].view(np.uint32), expected[1].view(np.uint32))
    )
