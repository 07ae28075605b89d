"""The writes that made a delta channel's value, since the value that lies before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warmset.adapters.langgraph.threads import Threads


def history(
    threads: Threads, target: tuple[object, str, str | None], channels: Sequence[str]
) -> dict[str, Any]:
    """Walk from a checkpoint to its ancestors, once for all channels.

    Args:
        threads: The threads.
        target: Thread, namespace and name of the checkpoint; its own writes are not part of it.
        channels: The channels.

    Returns:
        For each channel the `writes`, oldest first, and as `seed` the value of the nearest ancestor
        that has one.
    """
    log, (thread, namespace, name) = threads.place.log, target
    found: dict[str, Any] = {channel: {"writes": []} for channel in channels}
    open_ = {*channels}
    seen = {name}
    cell = log.get(threads.key(thread, "c", namespace, name)) if name is not None else None
    while cell is not None and open_:
        parent = cell.columns["parent"]
        if not isinstance(parent, str) or parent in seen:
            break
        seen.add(parent)
        cell = log.get(threads.key(thread, "c", namespace, parent))
        if cell is None:
            break
        for task, channel, write in reversed([*threads.writes_of(thread, namespace, parent)]):
            if channel in open_:
                found[channel]["writes"].append((task, channel, threads.value(write)))
        versions = threads.read(cell)["checkpoint"]["channel_versions"]
        held = [channel for channel in sorted(open_) if channel in versions]
        keys = [threads.key(thread, "b", namespace, one, versions[one]) for one in held]
        for channel, blob in zip(held, log.view(cells=keys).cells, strict=True):
            if blob is not None:
                found[channel]["seed"] = threads.value(blob)
                open_.remove(channel)
    for one in found.values():
        one["writes"].reverse()
    return found
