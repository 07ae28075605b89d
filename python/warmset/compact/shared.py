"""The vectors of a process: one cache an embedder, shared by all who use it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from warmset.compact.vectors import VectorCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.embed import Embedder

_MOST: Final = 8
"""Embedders whose vectors are kept."""

_SHARED: Final[dict[Any, VectorCache]] = {}
_SHARED_LOCK: Final = threading.Lock()


def cache_of(embedder: Embedder, given: object) -> VectorCache:
    """Return the vectors of an embedder, shared by all who use it.

    Args:
        embedder: The embedder.
        given: What the caller gave, which may be a function; an embedder without a fingerprint is
            known by it.
    """
    key: Any = embedder.fingerprint or given
    with _SHARED_LOCK:
        try:
            found = _SHARED.pop(key, None)
        except TypeError:  # it cannot be a key: nobody can share it
            return VectorCache(embedder)
        found = VectorCache(embedder) if found is None else found
        _SHARED[key] = found
        while len(_SHARED) > _MOST:
            del _SHARED[next(iter(_SHARED))]
        return found


def forget_vectors(embedders: Iterable[object] = ()) -> None:
    """Drop the vectors that are kept in this process, of some embedders or of all.

    Args:
        embedders: Fingerprints, or what `compact_context` was given; all if none is named.
    """
    named = list(embedders)
    with _SHARED_LOCK:
        for key in named or list(_SHARED):
            _SHARED.pop(key, None)
