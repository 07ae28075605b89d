"""`WarmsetStore`: LangGraph's long-term memory in a log, with semantic search and expiry."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from warmset.adapters.as_json import dumped
from warmset.adapters.lanes import changing, reading
from warmset.adapters.langgraph.framework import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    PutOp,
    SearchOp,
    check_namespace,
)
from warmset.adapters.langgraph.items import columns_of, key_of
from warmset.adapters.langgraph.reads import Reads
from warmset.adapters.langgraph.texts import Texts
from warmset.adapters.place import Delete, Place
from warmset.native import Put, Remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from warmset.adapters.langgraph.framework import IndexConfig, Op, Result, TTLConfig
    from warmset.native import Log
    from warmset.store.rows import Row


class WarmsetStore(BaseStore):
    """A store in a log: durable, shared by processes, encrypted if the log's store is.

    All puts of a batch are written at once, after its reads. Vectors lie beside their items; each
    process searches a copy in memory, exactly, which every search brings up to date. Items whose
    namespaces begin with the same label share an encryption key.

    Args:
        log: The log; make one for each store and share it.
        tenant: Whose items these are: two tenants may use the same names.
        index: LangGraph's configuration of semantic search; `distance_type` may be "cosine" or
            "inner_product".
        ttl: LangGraph's configuration of expiry. A read puts off an expiry only once an eighth of
            the time has gone by; with `sweep_interval_minutes`, a batch that comes after that time
            sweeps.
        delete: What deleting does: "remove" an item, or "erase" its bytes before it returns. See
            `warmset.adapters.place`.
        clock: Seconds since 1970 UTC.

    Raises:
        MissingExtraError: langgraph is not installed.
        InvalidInputError: An argument is none of these.
    """

    supports_ttl = True

    def __init__(
        self,
        log: Log,
        *,
        tenant: str = "default",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        delete: Delete = "remove",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = Place(log, "langgraph-store", tenant, delete)
        self._texts = None if index is None else Texts(index)
        self.index_config = index
        self.embeddings = None if self._texts is None else self._texts.embeddings
        self.ttl_config = ttl
        self._clock = clock
        self._reads = Reads(self._place, self._texts)
        self._swept = clock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then all puts at once.

        Raises:
            InvalidNamespaceError: A namespace has a label that LangGraph refuses; nothing was done.
            TypeError: A value is not what JSON can hold; nothing was written.
        """
        given = _checked(ops)
        texts = self._texts
        made = None if texts is None else texts.embed(texts.wanted(given))
        return self._run(given, made)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` with the embedder's asynchronous methods, the rest in a thread."""
        given = _checked(ops)
        texts = self._texts
        made = None if texts is None else await texts.aembed(texts.wanted(given))
        writes = any(isinstance(op, PutOp) for op in given)
        return await (changing if writes else reading)(self._run, given, made)

    def clear(self, namespace_prefix: Sequence[str]) -> None:
        """Delete all items whose namespaces begin with these labels.

        With `delete="erase"` and one label, their encryption key is gone, too, when this returns.
        """
        self._place.drop(self._place.key(*namespace_prefix))

    def sweep_ttl(self) -> int:
        """Remove what has expired, in the whole log, and return the number of its keys."""
        self._swept = self._clock()
        return self._place.log.sweep(now=int(self._swept * 1e6))

    def _run(self, ops: list[Op], made: dict[str, NDArray[np.float32]] | None) -> list[Result]:
        settings: TTLConfig = self.ttl_config or {}
        minutes = settings.get("sweep_interval_minutes")
        if minutes is not None and self._clock() - self._swept >= minutes * 60:
            self.sweep_ttl()
        now = int(self._clock() * 1e6)
        seen = now if settings.get("omit_expired") else 0
        results: list[Result] = []
        puts: dict[Any, PutOp] = {}
        for op in ops:
            found: Result = None
            if isinstance(op, GetOp):
                found = self._reads.get(op, now=now, seen=seen)
            elif isinstance(op, SearchOp):
                found = self._reads.search(op, made, now=now, seen=seen)
            elif isinstance(op, ListNamespacesOp):
                found = self._reads.namespaces(op, seen=seen)
            else:
                puts[op.namespace, op.key] = op
            results.append(found)
        self._put([*puts.values()], made, now)
        return results

    def _put(
        self, puts: list[PutOp], made: dict[str, NDArray[np.float32]] | None, now: int
    ) -> None:
        rows: list[Row] = []
        gone = []
        for op in puts:
            key = key_of(self._place, op.namespace, op.key)
            if op.value is None:
                rows.append(Remove(key))
                gone.append(key)
                continue
            columns, own = columns_of(op.value), b""
            if op.ttl is not None:
                columns["ttl"] = float(op.ttl)
            if self._texts is not None and made is not None and (said := self._texts.of(op)):
                own = np.stack([made[text] for text in said]).astype("<f4").tobytes()
                columns["dims"] = self._texts.dims
            ttl = None if op.ttl is None else timedelta(minutes=op.ttl)
            payload = dumped(dict(op.value))
            rows.append(Put(key, payload, codec="json", columns=columns, ttl=ttl, own=own))
        if rows:
            erased = self._place.delete == "erase"
            old = [self._place.log.version(key, now=0) for key in gone] if erased else []
            self._place.write(rows, now=now)
            self._place.wipe(filter(None, old))


def _checked(ops: Iterable[Op]) -> list[Op]:
    """Return the operations.

    Raises:
        InvalidNamespaceError: A namespace has a label that LangGraph refuses.
        ValueError: One is no operation.
    """
    given = [*ops]
    for op in given:
        if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):
            raise ValueError(f"Unknown operation type: {type(op)}")  # noqa: TRY004 - LangGraph's
        check_namespace(op)
    return given
