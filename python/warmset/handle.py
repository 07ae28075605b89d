"""A handle on a store: opening, closing, and looking after its vectors."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from warmset.config import Weights
from warmset.embed import MiniLM, as_embedder
from warmset.embed.bars import Bars, watched
from warmset.errors import Closed, InvalidInputError
from warmset.figures import figures
from warmset.registry import Lease, lease
from warmset.threads import twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.config import Reading
    from warmset.embed import Embedder
    from warmset.engine import Engine
    from warmset.pick import Picker


class Handle:
    """A share in the engine of a path, seen by one tenant."""

    def __init__(
        self, share: Lease, *, tenant: str, weights: Weights, picker: Picker | None
    ) -> None:
        self._share = share
        self._weights = weights
        self._picker = picker
        self._closed = False
        self.tenant = tenant

    @classmethod
    def open(
        cls,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | Callable[[list[str]], object] | str | None = None,
        tenant: str = "default",
        durability: str = "fsync",
        mode: str = "exclusive",
        read: Reading = "map",
        encoding: str = "o200k_base",
        weights: Weights | None = None,
        picker: Picker | None = None,
    ) -> Self:
        """Open a store, or make a new one.

        Args:
            path: The store's directory; None keeps everything in memory.
            embedder: What makes vectors: an `Embedder`, a function of a list of texts, "lexical" to
                search by words alone, or None for the local MiniLM.
            tenant: Whose conversations this handle sees; nothing crosses tenants.
            durability: "fsync": what was acknowledged survives a crash and a power cut.
            mode: "exclusive": one process at a time owns the store.
            read: How sealed segments are read: "map", or "pread" where others may truncate files.
            encoding: The vocabulary that tokens are counted with.
            weights: How much each signal of the retriever counts.
            picker: Chooses among the shortlist; without one the score does.

        Returns:
            The memory. Close it, or use it as a context manager.

        Raises:
            ModelMissing: There is no local model; the message names the command that gets it.
            Locked: Another process owns the store.
            StoreError: The store could not be opened.
            InvalidInputError: An option is not one of those above.
        """
        for name, given, known in (
            ("durability", durability, "fsync"),
            ("mode", mode, "exclusive"),
        ):
            if given != known:
                raise InvalidInputError(
                    f"{name}: this version knows {known!r} only, found {given!r}"
                )
        if path is not None and (not isinstance(path, (str, PathLike)) or "\0" in str(path)):
            raise InvalidInputError(f"path: expected a directory's name or None, found {path!r}")
        if not isinstance(encoding, str):
            raise InvalidInputError(f"encoding: expected a name, found {encoding!r}")
        if not isinstance(tenant, str) or not tenant:
            raise InvalidInputError(f"tenant: expected a name, found {tenant!r}")
        share = lease(path, embedder=_embedder(embedder), read=read, encoding=encoding)
        return cls(share, tenant=tenant, weights=weights or Weights(), picker=picker)

    @property
    def engine(self) -> Engine:
        """The store and index behind this handle, shared with other handles on its path."""
        return self._share.engine

    def stats(self) -> dict[str, Any]:
        """Return figures of the store and the index.

        Returns:
            Messages and conversations of the tenant; records, bytes, segments and rows; the
            instruction set and the embedder in use; turns pending and failed; what opening cut off,
            and what is damaged.
        """
        self.check_open()
        with self.engine.lock:
            return figures(self.engine, self.tenant)

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all vectors anew with this handle's embedder, and make it the store's embedder.

        Until the last vector is kept the old ones count, so an interrupted run changes nothing.

        Args:
            progress: Is called with what is done and what there is to do.

        Raises:
            InvalidInputError: This handle searches by words alone.
            EmbedderError: The embedder failed.
        """
        self.check_open()
        if self.engine.indexer is None:
            raise InvalidInputError("reembed: this memory has no embedder; open it with one")
        self.engine.reembed(progress or (lambda _done, _total: None))

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every turn has its vectors, trying again what failed.

        Args:
            timeout: Seconds to wait at most; None waits as long as it takes.

        Returns:
            Whether every turn has them; `stats()` tells what is pending or failed.
        """
        self.check_open()
        return self.engine.indexer is None or self.engine.indexer.flush(timeout)

    def close(self, *, timeout: float = 30.0) -> None:
        """Close this handle; the last one on a path finishes pending vectors and closes the store.

        Args:
            timeout: Seconds to give the pending vectors; what is left is made at the next open.
        """
        if not self._closed:
            self._closed = True
            self._share.release(timeout)

    def check_open(self) -> None:
        """Refuse to go on after `close`.

        Raises:
            Closed: The handle was closed.
        """
        if self._closed:
            raise Closed("the memory is closed; open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"Memory({self.engine.store.path!s}, tenant={self.tenant!r}, {state})"

    @classmethod
    async def aopen(
        cls,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | Callable[[list[str]], object] | str | None = None,
        tenant: str = "default",
        durability: str = "fsync",
        mode: str = "exclusive",
        read: Reading = "map",
        encoding: str = "o200k_base",
        weights: Weights | None = None,
        picker: Picker | None = None,
    ) -> Self:
        """Run `open` in a thread; the same arguments, result and errors."""
        return await twin(cls.open)(
            path,
            embedder=embedder,
            tenant=tenant,
            durability=durability,
            mode=mode,
            read=read,
            encoding=encoding,
            weights=weights,
            picker=picker,
        )


def _embedder(given: Embedder | Callable[[list[str]], object] | str | None) -> Embedder | None:
    if given == "lexical":
        return None
    if isinstance(given, str):
        raise InvalidInputError(
            f"embedder: expected an embedder, a function, None or 'lexical', found {given!r}"
        )
    if given is not None:
        return as_embedder(given)
    if not watched():
        return MiniLM()
    with Bars() as bars:
        return MiniLM(progress=bars)
