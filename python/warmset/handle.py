"""Opening a store."""

from __future__ import annotations

import os
from os import PathLike
from typing import TYPE_CHECKING, Literal, Self

from warmset.config import Weights
from warmset.embed import as_embedder, named
from warmset.embed.bars import Bars, watched
from warmset.errors import InvalidInputError
from warmset.held import Held
from warmset.opening import Opening
from warmset.prepare import policy_of
from warmset.registry import lease
from warmset.threads import twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmset.config import Reading
    from warmset.embed import Embedder
    from warmset.opening import Durability, OnBusy, Sharing, Views
    from warmset.pick import Picker
    from warmset.prepare import PreparedCompaction


class Handle(Held):
    """A handle on a store; see `Memory`."""

    @classmethod
    def open(
        cls,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | Callable[[list[str]], object] | str | None = None,
        tenant: str = "default",
        durability: Durability = "fsync",
        mode: Sharing = "shared",
        read: Reading = "map",
        encoding: str = "o200k_base",
        on_busy: OnBusy = "error",
        sync_interval: float | None = None,
        views: Views = "both",
        encryption: Literal["keys"] | bytes | None = None,
        weights: Weights | None = None,
        picker: Picker | None = None,
        compaction: PreparedCompaction | None = None,
    ) -> Self:
        """Open a store, or make a new one.

        Args:
            path: The store's directory; None keeps everything in memory.
            embedder: What makes vectors: an `Embedder`, a function of a list of texts, or a name:
                "minilm" (what None means), "static" for the fast local table, "openai", "cohere"
                or "voyage", which may have a model ("voyage:voyage-3.5"), or "lexical" to search by
                words alone.
            tenant: Whose conversations this handle sees; nothing crosses tenants.
            durability: What is sure when an append returns. "fsync": it survives a crash and a loss
                of power. "interval": it survives a crash; a sync follows within `sync_interval`.
                "os": it survives a crash; the operating system syncs when it likes.
            mode: "shared": other processes may read and write meanwhile, and each call sees what
                they wrote. "exclusive": no other process may write.
            read: How sealed segments are read: "map", or "pread" where others may truncate files.
            encoding: The vocabulary that tokens are counted with.
            on_busy: What an append does that cannot have the store within two seconds, because
                another process keeps it busy: "error" raises `Locked`; "spool" leaves the messages
                in the spool, durably, and returns `Spooled`; they appear with their ids once a
                writer took them up.
            sync_interval: Seconds between two syncs, for "interval".
            views: What is embedded of a turn. "both": its own text, and the turn among its
                neighbours; the mean of both is searched. "turn": its own text alone, which is half
                the work, and finds a little less. A store may be opened either way, at any time:
                what lacks is made then, and nothing twice.
            encryption: "keys" encrypts messages, with a key for each conversation that lies in the
                store's directory and goes when the conversation is erased; 32 bytes are a master
                key that encrypts those keys, and that you keep. Names of tenants and conversations
                are not encrypted.
            weights: How much each signal of the retriever counts.
            picker: Chooses among the shortlist; without one the score does.
            compaction: Has summaries ready for windows of modes "jit" and "full".

        Returns:
            The memory. Close it, or use it as a context manager.

        Raises:
            ModelMissing: There is no local model; the message names the command that gets it.
            Locked: Another process keeps the store busy.
            StoreError: The store could not be opened.
            InvalidInputError: An option is not one of those above.
        """
        opening = Opening(
            mode=mode,
            durability=durability,
            sync_interval=sync_interval,
            on_busy=on_busy,
            read=read,
            encryption=encryption,
            views=views,
        )
        _check_path(path)
        if not isinstance(encoding, str):
            raise InvalidInputError(f"encoding: expected a name, found {encoding!r}")
        if not isinstance(tenant, str) or not tenant:
            raise InvalidInputError(f"tenant: expected a name, found {tenant!r}")
        policy = policy_of(compaction)
        share = lease(path, embedder=_embedder(embedder), opening=opening, encoding=encoding)
        return cls(
            share,
            tenant=tenant,
            weights=weights or Weights(),
            picker=picker,
            compaction=policy,
        )

    @classmethod
    async def aopen(
        cls,
        path: str | PathLike[str] | None,
        *,
        embedder: Embedder | Callable[[list[str]], object] | str | None = None,
        tenant: str = "default",
        durability: Durability = "fsync",
        mode: Sharing = "shared",
        read: Reading = "map",
        encoding: str = "o200k_base",
        on_busy: OnBusy = "error",
        sync_interval: float | None = None,
        views: Views = "both",
        encryption: Literal["keys"] | bytes | None = None,
        weights: Weights | None = None,
        picker: Picker | None = None,
        compaction: PreparedCompaction | None = None,
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
            on_busy=on_busy,
            sync_interval=sync_interval,
            views=views,
            encryption=encryption,
            weights=weights,
            picker=picker,
            compaction=compaction,
        )


def _check_path(path: object) -> None:
    if path is None:
        return
    name = os.fspath(path) if isinstance(path, (str, PathLike)) else None
    try:
        fits = isinstance(name, str) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise InvalidInputError(f"path: expected a directory's name or None, found {path!r}")


def _embedder(given: Embedder | Callable[[list[str]], object] | str | None) -> Embedder | None:
    if given == "lexical":
        return None
    if given is not None and not isinstance(given, str):
        return as_embedder(given)
    name = "minilm" if given is None else given
    if not watched():
        return named(name)
    with Bars() as bars:
        return named(name, progress=bars)
