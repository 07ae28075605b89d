"""What the tests of the cold store share: rows, and a child process that runs some code."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise


def row(payload=b"x", *, kind="turn", key=(b"tenant", b"log"), meta=b"m", sources=()):
    """A row to append; with sources it has five parts."""
    parts = (kind, list(key), meta, payload)
    return (*parts, list(sources)) if sources else parts


def everything(store, **options):
    """All records of a store but its own, page by page."""
    out, start = [], 1
    while records := store.page(start, **options):
        out += records
        start = records[-1].seq + 1
    assert all(one.seq < two.seq for one, two in pairwise(out))
    return [record for record in out if record.kind not in {"tombstone", "spooled"}]


def payloads(store):
    """What the records hold."""
    return [record.payload for record in everything(store)]


def segments(path):
    """A store's segment files, in order."""
    return sorted(path.glob("*.seg"))


def child(code, *arguments, **options):
    """A process that runs code, with pipes in and out."""
    return subprocess.Popen(  # noqa: S603 - fixed
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )
