"""Stores of records by others, behind one shape; each at its fastest calls."""

from __future__ import annotations

import importlib
import os
import sqlite3
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from warmset.native import ColdStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KILOBYTE: Final = 1024
MAP: Final = 16 << 30
"""How large an LMDB may grow; it takes no room until it is used."""

_NAME: Final = struct.Struct(">Q")


class Store(Protocol):
    """What can be appended to."""

    @property
    def count(self) -> int:
        """The number of records."""
        ...

    def append(self, payload: bytes, /) -> object:
        """Make one record durable."""
        ...

    def append_all(self, payloads: Sequence[bytes], /) -> object:
        """Make many durable together."""
        ...

    def get(self, seq: int, /) -> bytes:
        """Read one payload, by its number from 1."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def row(payload: bytes) -> tuple[str, list[bytes], bytes, bytes]:
    """Make a record of warmset's store out of a payload."""
    return ("turn", [b"log"], b"m", payload)


class Ours:
    """warmset's store through its public class; every append is synced."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.store = ColdStore.open(path, **options)

    @property
    def count(self) -> int:
        """The number of records, each read and checked; 0 if one is damaged."""
        report = self.store.verify()
        return 0 if report["damages"] else int(report["records"])

    def append(self, payload: bytes) -> None:
        """Make one record durable."""
        self.store.append([row(payload)])

    def append_all(self, payloads: Sequence[bytes]) -> None:
        """Make many durable together."""
        self.store.append([row(payload) for payload in payloads])

    def get(self, seq: int) -> bytes:
        """Read one payload, which is verified."""
        return bytes(self.store.get(seq).payload)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


class RawFile:
    """Write and sync: what the disk can do at best."""

    def __init__(self, path: Path) -> None:
        flags = os.O_CREAT | os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self.fd = os.open(path, flags, 0o600)
        self.path = path
        self.count = 0

    def append(self, payload: bytes) -> None:
        """Make one record durable."""
        os.write(self.fd, payload)
        _sync(self.fd)
        self.count += 1

    def append_all(self, payloads: Sequence[bytes]) -> None:
        """Make many durable together."""
        os.write(self.fd, b"".join(payloads))
        _sync(self.fd)
        self.count += len(payloads)

    def get(self, seq: int) -> bytes:
        """Read one payload of a kilobyte."""
        with self.path.open("rb") as file:
            file.seek((seq - 1) * KILOBYTE)
            return file.read(KILOBYTE)

    def close(self) -> None:
        """Close the file."""
        os.close(self.fd)


def _sync(fd: int) -> None:
    """Sync as far as the system can, as warmset does: on macOS, past the disk's own cache."""
    if sys.platform == "darwin":
        fcntl = importlib.import_module("fcntl")
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        getattr(os, "fdatasync", os.fsync)(fd)


class Sqlite:
    """SQLite with a write-ahead log; with synchronous=FULL each commit is durable."""

    def __init__(
        self, path: Path, *, synchronous: str = "FULL", locking: str = "NORMAL", make: bool = True
    ) -> None:
        self.base = sqlite3.connect(path, isolation_level=None)
        self.base.execute(f"PRAGMA locking_mode={locking}")
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute("PRAGMA fullfsync=1")  # macOS alone heeds it
        self.base.execute(f"PRAGMA synchronous={synchronous}")
        if not make:
            return
        self.base.execute(
            "CREATE TABLE r (seq INTEGER PRIMARY KEY, kind TEXT, key BLOB, meta BLOB, payload BLOB)"
        )

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self.base.execute("SELECT count(*) FROM r").fetchone()[0])

    def append(self, payload: bytes) -> None:
        """Make one record durable."""
        self.base.execute("INSERT INTO r VALUES (NULL, 'turn', 'log', 'm', ?)", (payload,))

    def append_all(self, payloads: Sequence[bytes]) -> None:
        """Make many durable together."""
        self.base.execute("BEGIN")
        self.base.executemany(
            "INSERT INTO r VALUES (NULL, 'turn', 'log', 'm', ?)", [(p,) for p in payloads]
        )
        self.base.execute("COMMIT")

    def get(self, seq: int) -> bytes:
        """Read one payload."""
        found = self.base.execute("SELECT payload FROM r WHERE seq = ?", (seq,)).fetchone()
        return bytes(found[0])

    def close(self) -> None:
        """Close the database."""
        self.base.close()


class Lmdb:
    """LMDB, keys ascending, so that each is put behind the last one without a search.

    Raises:
        ImportError: lmdb is not installed.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        peer = importlib.import_module("lmdb")
        self.base: Any = peer.open(str(path), map_size=MAP, sync=sync, metasync=sync, subdir=True)
        self.path = path
        self.next = self.count + 1

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self.base.stat()["entries"])

    def append(self, payload: bytes) -> None:
        """Put one record in a transaction of its own."""
        with self.base.begin(write=True) as put:
            put.put(_NAME.pack(self.next), payload, append=True)
        self.next += 1

    def append_all(self, payloads: Sequence[bytes]) -> None:
        """Put many in one transaction, with one call."""
        with self.base.begin(write=True) as put:
            items = ((_NAME.pack(at), one) for at, one in enumerate(payloads, self.next))
            put.cursor().putmulti(items, append=True)
        self.next += len(payloads)

    def get(self, seq: int) -> bytes:
        """Read one payload as the database is now."""
        with self.base.begin() as read:
            return bytes(read.get(_NAME.pack(seq)))

    def close(self) -> None:
        """Close the environment."""
        self.base.close()
