"""`WarmsetSaver`: LangGraph's checkpoints in a log."""

from __future__ import annotations

import random
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from warmset._support.aio import twin
from warmset.adapters.lanes import changing, reading
from warmset.adapters.langgraph.framework import (
    BaseCheckpointSaver,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from warmset.adapters.langgraph.history import history
from warmset.adapters.langgraph.pruning import discard, keep_latest, refuse_delta
from warmset.adapters.langgraph.threads import Threads
from warmset.adapters.place import Delete, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from warmset._core import Listed
    from warmset.adapters.langgraph.framework import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        RunnableConfig,
        SerializerProtocol,
    )
    from warmset.native import Log

_AT_ONCE = 16
"""Checkpoints that the asynchronous `list` reads in one go."""


class WarmsetSaver(BaseCheckpointSaver[str]):
    """A checkpointer in a log: durable, shared by processes, encrypted if the log's store is.

    A checkpoint and the channel values that are new with it are written in one batch. A thread has
    an encryption key of its own. Asynchronous methods run the others in threads; one that changes
    something and is cancelled meanwhile ends when it is done.

    Args:
        log: The log; make one for each store and share it.
        tenant: Whose threads these are: two tenants may use the same names.
        delete: What deleting and pruning do: "remove", or "erase" bytes, and with a whole thread
            its encryption key, before they return. See `warmset.adapters.place`.
        serde: LangGraph's serializer.

    Raises:
        MissingExtraError: langgraph is not installed.
        InvalidInputError: An argument is none of these.
    """

    def __init__(
        self,
        log: Log,
        *,
        tenant: str = "default",
        delete: Delete = "remove",
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._place = Place(log, "langgraph-checkpoints", tenant, delete)

    @property
    def _threads(self) -> Threads:
        return Threads(self._place, self.serde)  # LangGraph sets another serde on copies

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; without a `checkpoint_id`, the newest one of the namespace."""
        threads, thread, namespace = self._threads, *_names(config)
        while (name := get_checkpoint_id(config) or threads.newest(thread, namespace)) is not None:
            found = threads.load(thread, namespace, name)
            if found is not None or get_checkpoint_id(config):
                return found
        return None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first.

        Args:
            config: A thread, or a namespace or a checkpoint of it; None for all threads.
            filter: What their metadata must be equal to.
            before: Only those before this checkpoint.
            limit: The most checkpoints.
        """
        threads, wanted = self._threads, filter or {}
        names = [*self._named(config, get_checkpoint_id(before) if before else None)]
        names.sort(key=itemgetter(2), reverse=True)
        found = (
            one
            for name in names
            if (one := threads.load(*name))
            and all(one.metadata.get(key) == value for key, value in wanted.items())
        )
        yield from found if limit is None else islice(found, max(0, limit))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint and the channel values that are new with it, in one batch."""
        thread, namespace = _names(config)
        kept = get_checkpoint_metadata(config, metadata)
        parent = get_checkpoint_id(config)
        at = (thread, namespace)
        self._place.write(self._threads.rows(at, checkpoint, kept, new_versions, parent))
        names = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}
        return {"configurable": names}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep the writes of a task for the checkpoint that follows, each of them once."""
        thread, namespace = _names(config)
        name = _configured(config)["checkpoint_id"]
        below = self._threads.key(thread, "w", namespace, name)
        self._place.write(self._threads.write_rows(below, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Delete all of a thread."""
        self._place.drop(self._place.key(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs, with their writes and the values that only they use.

        Threads with a `DeltaChannel` lose what those checkpoints contributed.
        """
        log, threads = self._place.log, self._threads
        doomed: dict[bytes, list[Listed]] = {}
        if run_ids:
            where = {"run": {"in": [*run_ids]}}
            for one in log.scan(self._place.key(), where=where, limit=None):
                doomed.setdefault(one.key[2], []).append(one)
        for thread, several in doomed.items():
            discard(threads, thread.decode(), several)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all of a thread to another one, in one batch.

        Raises:
            Conflict: The other thread has something already.
        """
        source, target = self._place.key(source_thread_id), self._place.key(target_thread_id)
        self._place.log.copy(source, target, depth=self._place.depth)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete what threads do not need any more, each thread in a batch.

        Args:
            thread_ids: The threads.
            strategy: "keep_latest": each namespace keeps its newest checkpoint with its writes and
                values; namespaces of subgraph calls go with the checkpoint that they started from.
                "delete" deletes all.

        Raises:
            TypeError: The threads are one text.
            ValueError: There is no such strategy.
            NotImplementedError: A thread has a `DeltaChannel`, whose value needs the checkpoints
                before; none of the threads was pruned.
        """
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids must be a sequence of thread IDs, not a str")
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"Unknown prune strategy: {strategy!r}")
        if strategy == "delete":
            self._place.drop(*(self._place.key(str(thread)) for thread in thread_ids))
            return
        refuse_delta(self._threads, thread_ids)
        for thread in thread_ids:
            keep_latest(self._threads, thread)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> dict[str, Any]:
        """Return what made the values of delta channels: writes since the value before them."""
        thread, namespace = _names(config)
        name = get_checkpoint_id(config) or self._threads.newest(thread, namespace)
        return history(self._threads, (thread, namespace, name), channels)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version after another one; two branches never make the same one."""
        del channel
        number = int(str(current).split(".")[0]) if current is not None else 0
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - no secret

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints as `list` does, a few at a time in a thread."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while several := await reading(lambda: [*islice(found, _AT_ONCE)]):
            for one in several:
                yield one

    aget_tuple: Any = twin(get_tuple, run_in=reading)
    aput: Any = twin(put, to_the_end=True, run_in=changing)
    aput_writes: Any = twin(put_writes, to_the_end=True, run_in=changing)
    adelete_thread: Any = twin(delete_thread, to_the_end=True, run_in=changing)
    adelete_for_runs: Any = twin(delete_for_runs, to_the_end=True, run_in=changing)
    acopy_thread: Any = twin(copy_thread, to_the_end=True, run_in=changing)
    aprune: Any = twin(prune, to_the_end=True, run_in=changing)
    aget_delta_channel_history: Any = twin(get_delta_channel_history, run_in=reading)

    def _named(
        self, config: RunnableConfig | None, before: str | None
    ) -> Iterator[tuple[Any, str, str]]:
        """Return thread, namespace and name of the checkpoints that a configuration names."""
        names = _configured(config) if config else {}
        only = get_checkpoint_id(config) if config else None
        if config:
            threads = [names["thread_id"]]
        else:
            spaces = self._place.log.spaces(self._place.key(), depth=3, limit=None)
            threads = [parts[2].decode() for parts in spaces]
        for thread in threads:
            for one in self._threads.listed(thread, names.get("checkpoint_ns")):
                *_, namespace, raw = one.key
                name = raw.decode()
                if (not only or name == only) and (before is None or name < before):
                    yield thread, namespace.decode(), name


def _configured(config: RunnableConfig) -> dict[str, Any]:
    return config.get("configurable") or {}


def _names(config: RunnableConfig) -> tuple[Any, str]:
    """Return thread and namespace."""
    names = _configured(config)
    return names["thread_id"], names.get("checkpoint_ns", "")
