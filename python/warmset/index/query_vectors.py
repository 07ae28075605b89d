"""Vectors of queries: the caller's own, or embedded once and cached."""

from __future__ import annotations

import logging
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Final

import numpy as np

from warmset._support.cut_off import IfCutOff
from warmset._support.locks import guarded, lock
from warmset._support.log import event, kind, room
from warmset.errors import EmbedderMismatch, InvalidInputError, WarmsetError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warmset.embed import Vectors
    from warmset.index.vectorizer import Vectorizer

LOG: Final = room("index")

CACHED: Final = 512


@guarded(
    "self._lock",
    fields=("_kept",),
    writes=("_pool",),
)
class QueryVectors:
    """A cache of the last 512 query vectors; concurrent requests for one query share one call."""

    def __init__(self, vectorizer: Vectorizer) -> None:
        self._vectorizer = vectorizer
        self._lock = lock("query_vectors")
        self._kept: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self._pool: ThreadPoolExecutor | None = None

    def get(self, query: str, wait: float) -> tuple[Vectors | None, str | None]:
        """Return the vector of a query, or why there is none yet.

        Args:
            query: The text.
            wait: Seconds to wait for a remote embedder; a local one is always waited for.

        Returns:
            The vector and None, or None and the reason.

        Raises:
            EmbedderMismatch: The embedder is not the store's.
        """
        remote = self._vectorizer.embedder.remote
        own: Future[Vectors] = Future()
        with IfCutOff(own.cancel):  # whoever waits for it is told, and the next one makes it
            future = self._begun(query, own, remote=remote)
        try:
            return future.result(wait if remote else None), None
        except FutureTimeoutError:
            self._by_words("late", wait)
            return None, f"the query's vector was not there within {wait:g} s"
        except EmbedderMismatch:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises, words are there
            self._by_words(kind(error), wait)
            said = str(error)
            return None, said if isinstance(error, WarmsetError) else f"{kind(error)}: {said}"

    def _begun(self, query: str, own: Future[Vectors], *, remote: bool) -> Future[Vectors]:
        """Return what will be the vector: what is there already, or `own`, which is begun."""
        with self._lock:
            future = self._kept.get(query)
            mine = future is None or _is_lost(future)
            if future is None or mine:
                self._kept[query] = future = own
                while len(self._kept) > CACHED:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(query)
            if mine and remote and self._pool is None:
                self._pool = ThreadPoolExecutor(2, thread_name_prefix="warmset-query")
        if mine and remote and self._pool is not None:
            self._pool.submit(self._make, query, own)
        elif mine:
            self._make(query, own)
        return future

    def check(self) -> None:
        """Determine whether the store's vectors may be compared with vectors of this embedder.

        Raises:
            EmbedderMismatch: They are another embedder's.
        """
        self._vectorizer.check()

    def close(self) -> None:
        """Stop the threads of remote calls."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _by_words(self, why: str, wait: float) -> None:
        event(
            LOG,
            logging.WARNING,
            "fell_back",
            what="query_vector",
            to="words",
            embedder=self._vectorizer.embedder.name,
            why=why,
            wait=wait,
        )

    def _make(self, query: str, future: Future[Vectors]) -> None:
        with IfCutOff(future.cancel):
            try:
                made = self._vectorizer.query(query)
            except Exception as error:  # noqa: BLE001 - `get` says what it was
                future.set_exception(error)
            else:
                future.set_result(made)


def _is_lost(future: Future[Vectors]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def searched_vector(vector: object, vectors: QueryVectors | None) -> NDArray[np.float32]:
    """Read a vector that the caller made, for comparison with a store's; see `given_vector`.

    Args:
        vector: The vector, shape (dim,).
        vectors: The query vectors of the store's embedder; None if there is none.

    Raises:
        InvalidInputError: It is not a vector of numbers.
        EmbedderMismatch: The store's vectors are another embedder's, and are not searched.
    """
    read = given_vector(vector)
    if vectors is not None:
        vectors.check()
    return read


def given_vector(vector: object) -> NDArray[np.float32]:
    """Read a vector that the caller made.

    Raises:
        InvalidInputError: It is not a vector of numbers.
    """
    try:
        array = np.asarray(vector)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"query_vector: not an array of numbers ({error})") from error
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"query_vector: expected real numbers, found dtype {array.dtype}")
    if array.dtype != np.float32:
        with np.errstate(over="ignore"):  # an infinity is refused with the other ones
            array = array.astype(np.float32)
    if array.ndim == 2 and len(array) == 1:  # noqa: PLR2004 - a batch of one
        array = array[0]
    if array.ndim != 1:
        raise InvalidInputError(f"query_vector: expected shape (dim,), found {array.shape}")
    return array
