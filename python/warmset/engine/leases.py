"""One engine per path and process: handles on the same store share its index."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from warmset._support.forks import Lock, in_child
from warmset._support.locks import guarded, guarded_dict, rlock
from warmset.engine.engine import Engine
from warmset.errors import InvalidInputError
from warmset.index.query_vectors import QueryVectors
from warmset.index.vectorizer import compare

if TYPE_CHECKING:
    from os import PathLike

    from warmset.embed import Embedder
    from warmset.store.options import StoreOptions
    from warmset.text.describe import Describers


@guarded(
    "self.lock",
    fields=("first", "shares"),
)
class _Place:
    """The engine of a path while it is open, and those who share it.

    Attributes:
        lock: Held while the engine is opened or closed; it keeps no other path waiting.
        first: The first share in the engine; None while it is not open.
        shares: How many shares there are in it.
        visitors: How many hold a share, wait for the lock or have it.
    """

    def __init__(self) -> None:
        self.lock = rlock("place")
        self.first: Lease | None = None
        self.shares = 0
        self.visitors = 0


_registry = Lock()
"""Protects the dict and the counts of visitors, and is never held while anything else happens."""

_places: dict[str, _Place] = guarded_dict(_registry)


@dataclass(slots=True)
class Lease:
    """A share in an engine.

    Args:
        engine: The engine.
        vectors: Its cache of query vectors; None where it searches by words alone.
    """

    engine: Engine
    vectors: QueryVectors | None
    _place: tuple[str, _Place] | None = None
    _open: bool = True

    def release(self, timeout: float) -> None:
        """Give the share back; the last one closes the engine. Doing it twice does nothing.

        In the child of a fork, the engine and its locks are the parent's: nothing is closed there.

        Args:
            timeout: Seconds that pending vectors get.
        """
        if self.engine.is_forked():
            self._open = False
            return
        if self._place is None:
            if self._end():
                self._close(timeout)
        else:
            real, place = self._place
            with place.lock:
                if not self._end():
                    return
                place.shares -= 1
                try:
                    if not place.shares:
                        place.first = None
                        self._close(timeout)
                finally:
                    _leave(real, place)
        self.engine.notices.tell()

    def _end(self) -> bool:
        """Return whether the share was open until now."""
        was, self._open = self._open, False
        return was

    def _close(self, timeout: float) -> None:
        try:
            if self.vectors is not None:
                self.vectors.close()
            self.engine.close(timeout)
        except BaseException:
            self.engine.abandon()  # it may have been cut off before it closed anything
            raise


class Leasing:
    """One lease of the engine of a path, and all that its opening has opened so far.

    Wherever Ctrl-C or an error cuts it off, `give_back` leaves nothing open: no lock of a store,
    and no thread.

    Args:
        path: The store's directory; None makes an engine of its own in memory.
        embedder: What makes vectors; None searches by words alone.
        opening: How the store is opened.
        encoding: The vocabulary that tokens are counted with.
        describers: The callables that describe turns; none takes those that are in use.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | None,
        opening: StoreOptions,
        encoding: str,
        describers: Describers | None = None,
    ) -> None:
        self._path = path
        self._embedder = embedder
        self._opening = opening
        self._encoding = encoding
        self._describers = describers
        self._place: tuple[str, _Place] | None = None
        self._made: list[Engine] = []
        self._share: Lease | None = None

    def lease(self) -> Lease:
        """Share the engine of the path, or open it; whatever is raised, then call `give_back`.

        Raises:
            InvalidInputError: The path is open in this process with another embedder or encoding,
                or its store with other options.
            EmbedderError: Functions of one name had to be compared by their vectors, and one
                failed.
            StoreError: The store could not be opened.
        """
        share = self._opened() if self._path is None else self._shared(self._path)
        share.engine.notices.tell()
        return share

    def give_back(self) -> None:
        """Close what was opened, or give the share back; nothing is waited for."""
        if self._share is not None:
            self._share.release(0.0)
            return
        try:
            for engine in self._made:
                engine.abandon()
        finally:
            if self._place is not None:
                _leave(*self._place)

    def _shared(self, path: str | PathLike[str]) -> Lease:
        name = os.fspath(path)
        real = os.path.realpath(name) if name else name
        with _registry:
            place = _places.get(real) or _Place()
            # With no call between: Ctrl-C changes all of them, or none.
            _places[real] = place
            place.visitors += 1
            self._place = real, place
        with place.lock:
            first = place.first
            if first is None:
                share = self._opened()
                place.first, place.shares, self._share = share, 1, share
            else:
                _same(first.engine, self._embedder, self._opening, self._encoding)
                _same_describers(first.engine, self._describers)
                share = Lease(first.engine, first.vectors, self._place)
                place.shares += 1
                self._share = share
        return share

    def _opened(self) -> Lease:
        engine = Engine(
            self._path,
            embedder=self._embedder,
            opening=self._opening,
            encoding=self._encoding,
            describers=self._describers,
            born=self._made.append,
        )
        vectors = None if engine.indexer is None else QueryVectors(engine.indexer.vectorizer)
        return Lease(engine, vectors, self._place)


def _leave(real: str, place: _Place) -> None:
    with _registry:
        place.visitors -= 1
        if not place.visitors:
            _places.pop(real, None)


def _begin_anew() -> None:
    """Forget, in the child of a fork, what its parent has open."""
    _places.clear()


in_child(_begin_anew)


def _same_describers(engine: Engine, describers: Describers | None) -> None:
    """Refuse callables that differ from those in use; they are told apart by their names."""
    names = {} if describers is None else describers.names()
    if names and names != engine.describers:
        used = ", ".join(f"{part}={name}" for part, name in engine.describers.items())
        raise InvalidInputError(
            f"the store is open in this process with {used or 'no callables for descriptions'}, "
            f"not with {', '.join(f'{part}={name}' for part, name in names.items())}; close it "
            "first, or open it alike"
        )


def _same(engine: Engine, embedder: Embedder | None, opening: StoreOptions, encoding: str) -> None:
    known = None if engine.indexer is None else engine.indexer.vectorizer.embedder
    if (known is None) != (embedder is None) or engine.encoding != encoding:
        names = ["lexical" if one is None else one.name for one in (known, embedder)]
        raise InvalidInputError(
            f"the store is open in this process with embedder {names[0]} and encoding "
            f"{engine.encoding}, not {names[1]} and {encoding}; close it first, or open it alike"
        )
    if known is not None and embedder is not None:
        differ = compare(known, embedder)
        if differ is not None:
            raise InvalidInputError(
                f"the store is open in this process with embedder {differ.stored}, not "
                f"{differ.given}{f' ({differ.how})' if differ.how else ''}; close it first, or "
                f"open it alike"
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
