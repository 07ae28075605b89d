"""Other stores behind one shape: append, append_all, get, count, size; each at its fastest call."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from benches.python import peers
from warmset.native import ColdStore

if TYPE_CHECKING:
    from pathlib import Path

MAP = 16 << 30  # how large an LMDB may grow; it takes no room until it is used
NAME = struct.Struct(">Q")
KEY = [b"log"]  # of our records; the others have theirs in the statement, or none


class Warmset:
    """Ours, through its public class."""

    def __init__(self, path: Path, **options: str) -> None:
        self.store = ColdStore.open(path, **options)
        self.path = path

    @property
    def count(self) -> int:
        """The number of records, each read and checked."""
        report = self.store.verify()
        assert not report["damages"]
        return report["records"]

    def append(self, payload: bytes) -> None:
        """Append one record."""
        self.store.append([("turn", KEY, b"m", payload)])

    def append_all(self, payloads: list[bytes]) -> None:
        """Append many together."""
        self.store.append([("turn", KEY, b"m", payload) for payload in payloads])

    def get(self, seq: int) -> bytes:
        """Read one payload, which is verified."""
        return self.store.get(seq).payload

    def close(self) -> None:
        """Close the store."""
        self.store.close()


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


class Lmdb:
    """LMDB, keys ascending, so that each is put behind the last one without a search."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        import lmdb  # noqa: PLC0415 - a peer

        self.base = lmdb.open(str(path), map_size=MAP, sync=sync, metasync=sync, subdir=True)
        self.path = path
        self.next = self.base.stat()["entries"] + 1

    @property
    def count(self) -> int:
        """The number of records."""
        return self.base.stat()["entries"]

    def append(self, payload: bytes) -> None:
        """Put one record in a transaction of its own."""
        with self.base.begin(write=True) as put:
            put.put(NAME.pack(self.next), payload, append=True)
        self.next += 1

    def append_all(self, payloads: list[bytes]) -> None:
        """Put many in one transaction, with one call."""
        with self.base.begin(write=True) as put:
            items = ((NAME.pack(at), one) for at, one in enumerate(payloads, self.next))
            put.cursor().putmulti(items, append=True)
        self.next += len(payloads)

    def get(self, seq: int) -> bytes:
        """Read one payload as the database is now."""
        with self.base.begin() as read:
            return read.get(NAME.pack(seq))

    def close(self) -> None:
        """Close the environment."""
        self.base.close()


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
