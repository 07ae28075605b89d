"""How a thread lies in the log: a cell for each checkpoint, channel value and pending write.

```text
(tenant, space, thread, "c", namespace, checkpoint)            checkpoint and metadata
(tenant, space, thread, "b", namespace, channel, version)      a channel's value
(tenant, space, thread, "w", namespace, checkpoint, task, n)   a pending write
```

A checkpoint and the values that are new with it are one batch, so whoever sees it finds them. Names
of checkpoints grow, so the last key of a namespace is its newest checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warmset.adapters.as_json import dumped, loaded
from warmset.adapters.langgraph.framework import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    is_delta_snapshot,
)
from warmset.native import Put

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warmset._core import Cell, Listed
    from warmset.adapters.langgraph.framework import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        SerializerProtocol,
    )
    from warmset.adapters.place import Place
    from warmset.store.rows import IfPresent, Key, Row

DELTA_MARKS = ("counters_since_delta_snapshot", "delta_writes_versioned")
"""What LangGraph leaves in the metadata of threads with a `DeltaChannel`."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Reads and writes the cells of threads.

    Args:
        place: Where they lie.
        serde: LangGraph's serializer.
    """

    place: Place
    serde: SerializerProtocol

    def key(self, thread: object, *rest: object) -> Key:
        """Return the key of a cell of a thread, or a prefix of keys."""
        return self.place.key(str(thread), *map(str, rest))

    def rows(
        self,
        at: tuple[object, str],
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        versions: ChannelVersions,
        parent: str | None,
    ) -> list[Row]:
        """Return the rows of a checkpoint.

        Args:
            at: Thread and namespace.
            checkpoint: The checkpoint.
            metadata: Its metadata.
            versions: The versions that are new with it.
            parent: The checkpoint before it.
        """
        thread, namespace = at
        held: dict[str, Any] = {**checkpoint}
        values: Mapping[str, Any] = held.pop("channel_values")
        rows: list[Row] = []
        for channel, version in versions.items():
            if channel in values:
                codec, payload = self.serde.dumps_typed(values[channel])
                key = self.key(thread, "b", namespace, channel, version)
                rows.append(Put(key, payload, codec=codec, if_present="skip"))
        codec, payload = self.serde.dumps_typed({"checkpoint": held, "metadata": metadata})
        delta = any(mark in metadata for mark in DELTA_MARKS)
        run = metadata.get("run_id")
        columns = {
            "parent": parent,
            "run": run if isinstance(run, str) else None,
            "delta": delta or any(map(is_delta_snapshot, values.values())),
        }
        key = self.key(thread, "c", namespace, checkpoint["id"])
        return [*rows, Put(key, payload, codec=codec, columns=columns)]

    def write_rows(
        self, below: Key, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> list[Row]:
        """Return the rows of pending writes; one that is there stays, unless it is a special one.

        Args:
            below: The prefix of the keys of a checkpoint's writes.
            writes: Channels and values.
            task: The task that makes them.
            path: The task's path.
        """
        rows: list[Row] = []
        for at, (channel, value) in enumerate(writes):
            number = WRITES_IDX_MAP.get(channel, at)
            codec, payload = self.serde.dumps_typed(value)
            beside = dumped([channel, path])
            key = (*below, task, str(number))
            present: IfPresent = "skip" if number >= 0 else "replace"
            rows.append(Put(key, payload, codec=codec, own=beside, if_present=present))
        return rows

    def listed(self, thread: object, namespace: str | None = None) -> list[Listed]:
        """List a thread's checkpoints, or those of a namespace, without reading them."""
        below = () if namespace is None else (namespace,)
        return self.place.log.scan(self.key(thread, "c", *below), limit=None)

    def newest(self, thread: object, namespace: str) -> str | None:
        """Return the name of a namespace's newest checkpoint; None if it has none."""
        below = self.key(thread, "c", namespace)
        found = self.place.log.scan(below, reverse=True, limit=1)
        return found[0].key[-1].decode() if found else None

    def read(self, cell: Cell) -> dict[str, Any]:
        """Return what the cell of a checkpoint holds: `checkpoint` and `metadata`."""
        found: dict[str, Any] = self.value(cell)
        return found

    def value(self, cell: Cell) -> Any:
        """Return the value that a cell holds."""
        return self.serde.loads_typed((cell.codec or "", cell.payload))

    def load(self, thread: object, namespace: str, name: str) -> CheckpointTuple | None:
        """Return a checkpoint with its values and its pending writes; None if there is none.

        What is deleted between two reads is read again, so that no value is missing from what is
        returned.

        Args:
            thread: The thread.
            namespace: The namespace.
            name: The checkpoint's name.
        """
        log, below = self.place.log, self.key(thread)
        space, of = str(namespace), str(name)
        key = (*below, "c", space, of)
        while (cell := log.get(key)) is not None:
            held = self.read(cell)
            checkpoint = held["checkpoint"]
            channels = checkpoint["channel_versions"]
            keys: list[Key] = [
                (*below, "b", space, str(channel), str(version))
                for channel, version in channels.items()
            ]
            listed = log.scan((*below, "w", space, of), limit=None)
            found = log.view(cells=[*keys, *(one.key for one in listed)]).cells
            if log.version(key) != cell.version:
                continue
            checkpoint["channel_values"] = {
                channel: self.value(one)
                for channel, one in zip(channels, found, strict=False)
                if one is not None
            }
            pending = _in_order(found[len(keys) :])
            parent = cell.columns["parent"]
            return CheckpointTuple(
                _config(thread, namespace, name),
                checkpoint,
                held["metadata"],
                _config(thread, namespace, parent) if isinstance(parent, str) else None,
                [(task, channel, self.value(one)) for task, channel, one in pending],
            )
        return None

    def written(self, thread: object, namespace: str, name: str) -> list[Listed]:
        """List the pending writes of a checkpoint, without reading them."""
        return self.place.log.scan(self.key(thread, "w", namespace, name), limit=None)

    def writes_of(self, thread: object, namespace: str, name: str) -> list[tuple[str, str, Cell]]:
        """Return the pending writes of a checkpoint, in the order in which LangGraph applies them.

        Returns:
            The task, the channel and the cell of each.
        """
        keys = [one.key for one in self.written(thread, namespace, name)]
        return _in_order(self.place.log.view(cells=keys).cells)


def _in_order(cells: Iterable[Cell | None]) -> list[tuple[str, str, Cell]]:
    """Return task, channel and cell of pending writes that are there, by path, task and number."""
    found: list[tuple[str, str, int, str, Cell]] = []
    for cell in cells:
        if cell is not None:
            channel, path = loaded(cell.own)
            *_, task, number = cell.key
            found.append((path, task.decode(), int(number), channel, cell))
    found.sort()  # no two have the same task and number
    return [(task, channel, cell) for _, task, _, channel, cell in found]


def _config(thread: object, namespace: str, name: str) -> Any:
    names = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": name}
    return {"configurable": names}
