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
        pairs = np.frombuffer(packed, ">u8").reshape(-1, 2)
        high, low = (pairs[:, at].astype(np.uint64) for at in range(2))
        while self._old and len(self._old[-1][0]) <= 2 * len(high):
            before = self._old.pop()
            high, low = np.concatenate((before[0], high)), np.concatenate((before[1], low))
            del before  # there are never more than three copies
        order = np.argsort(high, kind="stable")
        self._old.append((high[order], low[order]))


def _holds(high: NDArray[np.uint64], low: NDArray[np.uint64], one: bytes) -> bool:
    first = np.uint64(int.from_bytes(one[:8], "big"))
    start = int(high.searchsorted(first))
    if start == len(high) or high[start] != first:
        return False
    end = int(high.searchsorted(first, "right"))
    return bool((low[start:end] == np.uint64(int.from_bytes(one[8:], "big"))).any())
