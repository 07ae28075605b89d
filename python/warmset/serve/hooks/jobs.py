"""The queue of what the worker has to do: a file a job, which has no word of a conversation."""

from __future__ import annotations

import os
import time
from typing import Any, Final, NamedTuple

from warmset.serve.hooks import files

MOST_BYTES: Final = 16_000
MOST_JOBS: Final = 10_000
"""How many jobs wait at most; a hook that finds more drops its own, and notes a failure."""

TRIES: Final = 5
"""How often a job is tried."""


class Job(NamedTuple):
    """What the worker has to do.

    Args:
        path: Its file.
        kind: "store": take up what is new in a transcript, and distil it; "compact": compact the
            last turns, with a checkpoint; "audit": find what a summary lost.
        fields: What it is about.
        tries: How often it was tried.
    """

    path: str
    kind: str
    fields: dict[str, Any]
    tries: int = 0


class QueueFullError(Exception):
    """Too many jobs wait; the worker does not keep up, or cannot be started."""


def put(queue: str, kind: str, fields: dict[str, Any]) -> None:
    """Add a job.

    Raises:
        QueueFullError: Too many jobs wait.
        OSError: It cannot be written.
    """
    files.folder(queue)
    if len(os.listdir(queue)) >= MOST_JOBS:
        raise QueueFullError("too many jobs wait for the worker")
    name = f"{time.time_ns():020d}-{os.getpid()}.json"
    files.replace_json(os.path.join(queue, name), {"kind": kind, "fields": fields, "tries": 0})


def waiting(queue: str) -> list[Job]:
    """Return the jobs that wait, oldest first; what is no job is deleted.

    Raises:
        OSError: The queue cannot be read.
    """
    try:
        names = sorted(os.listdir(queue))
    except FileNotFoundError:
        return []
    found: list[Job] = []
    for name in names:
        if not name.endswith(".json"):
            continue
        path = os.path.join(queue, name)
        try:
            made = files.read_json(path, MOST_BYTES)
        except (ValueError, OSError):
            made = {}
        if made is None:
            continue
        kind, fields, tries = made.get("kind"), made.get("fields"), made.get("tries")
        if isinstance(kind, str) and isinstance(fields, dict) and isinstance(tries, int):
            found.append(Job(path, kind, fields, tries))
        else:
            os.unlink(path)
    return found


def done(job: Job) -> None:
    """Take a job off the queue.

    Raises:
        OSError: The operating system refused.
    """
    try:
        os.unlink(job.path)
    except FileNotFoundError:
        return


def failed(job: Job) -> bool:
    """Put a job back, to be tried again, or take it off once it was tried often enough.

    Returns:
        Whether it will be tried again.

    Raises:
        OSError: It cannot be written.
    """
    if job.tries + 1 >= TRIES:
        done(job)
        return False
    made = {"kind": job.kind, "fields": job.fields, "tries": job.tries + 1}
    files.replace_json(job.path, made)
    return True
