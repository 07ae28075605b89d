"""One engine per path and process: handles on the same store share its index."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from warmset.engine.engine import Engine
from warmset.errors import InvalidInputError
from warmset.index.query_vectors import QueryVectors

if TYPE_CHECKING:
    from os import PathLike

    from warmset.embed import Embedder
    from warmset.store.options import StoreOptions


@dataclass(slots=True)
class Lease:
    """A share in an engine.

    Args:
        engine: The engine.
        vectors: Its cache of query vectors; None where it searches by words alone.
    """

    engine: Engine
    vectors: QueryVectors | None
    _path: str | None
    _open: bool = True

    def release(self, timeout: float) -> None:
        """Give the share back; the last one closes the engine. Doing it twice does nothing."""
        with _lock:
            if not self._open:
                return
            self._open = False
            if self._path is not None:
                _shares[self._path] = (_shares[self._path][0], _shares[self._path][1] - 1)
                if _shares[self._path][1]:
                    return
                del _shares[self._path]
            if self.vectors is not None:
                self.vectors.close()
            self.engine.close(timeout)
        self.engine.notices.tell()


_lock = threading.RLock()
_shares: dict[str, tuple[Lease, int]] = {}


def lease(
    path: str | PathLike[str] | None,
    *,
    embedder: Embedder | None,
    opening: StoreOptions,
    encoding: str,
) -> Lease:
    """Share the engine of a path, or open it.

    Args:
        path: The store's directory; None makes an engine of its own in memory.
        embedder: What makes vectors; None searches by words alone.
        opening: How the store is opened.
        encoding: The vocabulary that tokens are counted with.

    Returns:
        A share.

    Raises:
        InvalidInputError: The path is open in this process with another embedder or encoding, or
            its store with other options.
        StoreError: The store could not be opened.
    """
    if path is None:
        alone = _lease(None, None, embedder, opening, encoding)
        alone.engine.notices.tell()
        return alone
    name = os.fspath(path)
    real = os.path.realpath(name) if name else name
    with _lock:
        if real not in _shares:
            made = _lease(path, real, embedder, opening, encoding)
            _shares[real] = (made, 1)
        else:
            first, count = _shares[real]
            _same(first.engine, embedder, opening, encoding)
            _shares[real] = (first, count + 1)
            made = Lease(first.engine, first.vectors, real)
    made.engine.notices.tell()
    return made


def _lease(
    path: str | PathLike[str] | None,
    real: str | None,
    embedder: Embedder | None,
    opening: StoreOptions,
    encoding: str,
) -> Lease:
    engine = Engine(path, embedder=embedder, opening=opening, encoding=encoding)
    vectors = None if engine.indexer is None else QueryVectors(engine.indexer.vectorizer)
    return Lease(engine, vectors, real)


def _same(engine: Engine, embedder: Embedder | None, opening: StoreOptions, encoding: str) -> None:
    known = None if engine.indexer is None else engine.indexer.vectorizer.embedder
    same = known is embedder or (
        known is not None
        and embedder is not None
        and (known.name, known.fingerprint) == (embedder.name, embedder.fingerprint)
    )
    if not same or engine.encoding != encoding:
        given = "lexical" if embedder is None else embedder.name
        raise InvalidInputError(
            f"the store is open in this process with embedder "
            f"{'lexical' if known is None else known.name} and encoding {engine.encoding}, not "
            f"{given} and {encoding}; close it first, or open it alike"
        )
    if engine.opening != opening:
        other = [
            f"{option.name}={getattr(engine.opening, option.name)!r}"
            for option in fields(opening)
            if getattr(engine.opening, option.name) != getattr(opening, option.name)
            and option.name != "encryption"
        ]
        raise InvalidInputError(
            f"the store is open in this process with {', '.join(other) or 'another encryption'}; "
            f"close it first, or open it alike"
        )
