"""A set of digests that takes 16 bytes each, for files of millions of lines."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - an alias below is made of it

SIZE: Final = 16
"""Bytes of a digest."""

_YOUNG: Final = 1 << 15
"""How many digests lie in a set of objects before they are sorted in."""


class Seen:
    """Digests of 16 bytes; asking and adding take logarithmic time."""

    def __init__(self) -> None:
        self._young: set[bytes] = set()
        self._old: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []

    def __contains__(self, one: bytes) -> bool:
        return one in self._young or any(_holds(*run, one) for run in self._old)

    def add(self, one: bytes) -> bool:
        """Add a digest, and return whether it was new."""
        if one in self:
            return False
        self._young.add(one)
        if len(self._young) >= _YOUNG:
            self._sort_in(b"".join(self._young))
            self._young = set()
        return True

    def add_all(self, packed: bytes) -> None:
        """Add digests that stand one behind the other; those that are there may be among them."""
        if len(packed) >= SIZE:
            self._sort_in(packed)

    def _sort_in(self, packed: bytes) -> None:
        run = _sorted(np.frombuffer(packed, ">u8").reshape(-1, 2).astype(np.uint64))
        while self._old and len(self._old[-1][0]) <= 2 * len(run[0]):
            last = self._old.pop()
            run = _sorted(np.concatenate([np.stack(last, 1), np.stack(run, 1)]))
        self._old.append(run)


def _sorted(pairs: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return np.ascontiguousarray(pairs[order, 0]), np.ascontiguousarray(pairs[order, 1])


def _holds(high: NDArray[np.uint64], low: NDArray[np.uint64], one: bytes) -> bool:
    first = np.uint64(int.from_bytes(one[:8], "big"))
    start = int(high.searchsorted(first))
    if start == len(high) or high[start] != first:
        return False
    end = int(high.searchsorted(first, "right"))
    return bool((low[start:end] == np.uint64(int.from_bytes(one[8:], "big"))).any())
