"""Which checkpoints, writes and channel values of a thread go, and that they go in one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warmset.native import Patch, Remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warmset._core import Listed
    from warmset.adapters.langgraph.threads import Threads
    from warmset.store.rows import Row


def refuse_delta(threads: Threads, names: Sequence[str]) -> None:
    """Raise `NotImplementedError` if one of the threads has a `DeltaChannel`."""
    log = threads.place.log
    delta = [
        name
        for name in sorted({str(name) for name in names})
        if log.count(threads.key(name, "c"), where={"delta": True})
    ]
    if delta:
        why = f"keep_latest can't prune threads that use a DeltaChannel: {', '.join(delta)}"
        raise NotImplementedError(why)


def keep_latest(threads: Threads, thread: str) -> None:
    """Delete all but the newest checkpoint of each namespace.

    The namespace of a subgraph's call, whose name has a colon, goes with the checkpoint of the root
    graph that the call started from, once that one is there and goes itself.
    """
    listed = threads.listed(thread)
    heads = {one.key[4]: one for one in listed}
    names = {one.key[5] for one in listed if not one.key[4]}
    root = heads.get(b"")
    kept = {
        one.version: one
        for namespace, one in heads.items()
        if b":" not in namespace
        or (begun := _root_of(threads, one)) not in names
        or (root is not None and begun == root.key[5])
    }
    doomed = [one for one in listed if one.version not in kept]
    orphans = [
        Patch(one.key, {**one.columns, "parent": None}, version=one.version)
        for one in kept.values()
        if any(one.columns["parent"] == gone.key[5].decode() for gone in doomed)
    ]
    discard(threads, thread, doomed, orphans)


def discard(
    threads: Threads, thread: str, doomed: Sequence[Listed], rows: Iterable[Row] = ()
) -> None:
    """Delete checkpoints with their writes, and the values that no other checkpoint uses.

    Args:
        threads: The threads.
        thread: The thread.
        doomed: Its checkpoints that go.
        rows: What is written in the same batch.
    """
    if not doomed:
        return
    gone = {one.version for one in doomed}
    kept = [one for one in threads.listed(thread) if one.version not in gone]
    unused = _used(threads, doomed) - _used(threads, kept)
    cells = [*doomed]
    for one in doomed:
        cells += threads.written(thread, one.key[4].decode(), one.key[5].decode())
    blobs = threads.place.log.scan(threads.key(thread, "b"), limit=None)
    cells += [one for one in blobs if one.key[4:] in unused]
    threads.place.write([*rows, *(Remove(one.key) for one in cells)])
    threads.place.wipe(one.version for one in cells)


def _used(threads: Threads, listed: Sequence[Listed]) -> set[tuple[bytes, ...]]:
    """Return namespace, channel and version of the values that checkpoints use."""
    found: set[tuple[bytes, ...]] = set()
    for one in listed:
        for channel, version in _held(threads, one)["checkpoint"]["channel_versions"].items():
            found.add((one.key[4], channel.encode(), str(version).encode()))
    return found


def _root_of(threads: Threads, head: Listed) -> bytes:
    """Return the name of the root graph's checkpoint that a subgraph's call started from."""
    parents = _held(threads, head)["metadata"].get("parents") or {}
    return str(parents.get("", "")).encode()


def _held(threads: Threads, listed: Listed) -> dict[str, Any]:
    """Return what a listed checkpoint holds; nothing of one that was deleted meanwhile."""
    cell = threads.place.log.get(listed.key)
    if cell is None:
        return {"checkpoint": {"channel_versions": {}}, "metadata": {}}
    return threads.read(cell)
