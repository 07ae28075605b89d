"""The vector caches of a process: one for each embedder, shared by all its users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warmset._support.forks import Lock, in_child
from warmset._support.locks import guarded_dict
from warmset.compact.vectors import VectorCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warmset.embed import Embedder

_MOST: Final = 8
"""The most embedders whose vectors are cached."""

_SHARED_LOCK: Final = Lock()
_SHARED: Final[dict[Any, VectorCache]] = guarded_dict(_SHARED_LOCK)


in_child(_SHARED.clear)  # another thread of the parent may have been in the middle of one


def cache_of(embedder: Embedder, given: object) -> VectorCache:
    """Return the vector cache of an embedder, shared by all its users.

    Args:
        embedder: The embedder.
        given: The object that the caller passed, which may be a function; it identifies an embedder
            without a fingerprint.
    """
    key: Any = embedder.fingerprint or given
    with _SHARED_LOCK:
        try:
            found = _SHARED.pop(key, None)
        except TypeError:  # not hashable, so its cache cannot be shared
            return VectorCache(embedder)
        found = VectorCache(embedder) if found is None else found
        _SHARED[key] = found
        while len(_SHARED) > _MOST:
            del _SHARED[next(iter(_SHARED))]
        return found


def forget_vectors(embedders: Iterable[object] = ()) -> None:
    """Clear the vector caches of this process, of some embedders or of all.

    Args:
        embedders: Fingerprints, or the objects that were passed to `compact_context`; all if none
            is given.
    """
    named = list(embedders)
    with _SHARED_LOCK:
        for key in named or list(_SHARED):
            _SHARED.pop(key, None)
