"""Other stores behind one shape: append, append_all, get, count, size; each at its fastest call."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from benches.python import peers
from warmset.lab.bench.stores import Lmdb, Ours

if TYPE_CHECKING:
    from pathlib import Path

NAME = struct.Struct(">Q")


class Warmset(Ours):
    """Ours, through its public class."""

    def __init__(self, path: Path, **options: str) -> None:
        super().__init__(path, **options)
        self.path = path


class Raw(peers.RawFile):
    """A plain file; without a sync it is what `write` costs."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        super().__init__(path)
        self.path = path
        self.sync = sync

    def append(self, payload: bytes) -> None:
        """Write one record, and sync it if that was asked for."""
        if self.sync:
            super().append(payload)
        else:
            os.write(self.fd, payload)
            self.count += 1

    def append_all(self, payloads: list[bytes]) -> None:
        """Write many together, and sync them if that was asked for."""
        if self.sync:
            super().append_all(payloads)
        else:
            os.write(self.fd, b"".join(payloads))
            self.count += len(payloads)


class Sqlite(peers.Sqlite):
    """SQLite, whose first reader or writer opens the file."""

    def __init__(self, path: Path, **options: str | bool) -> None:
        super().__init__(path, **options)
        self.path = path


class LmdbPuts(Lmdb):
    """The same, with a call a record where many are put together."""

    def append_all(self, payloads: list[bytes]) -> None:
        """Put many in one transaction, one by one."""
        with self.base.begin(write=True) as put:
            for at, one in enumerate(payloads, self.next):
                put.put(NAME.pack(at), one)
        self.next += len(payloads)


def size(path: Path) -> int:
    """Give the bytes that a store's files take on the disk."""
    files = path.rglob("*") if path.is_dir() else path.parent.glob(path.name + "*")
    return sum(one.stat().st_blocks * 512 for one in files if one.is_file())
