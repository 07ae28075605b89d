"""The proxy's own files in the directory of a store: whole or not there, and for their owner alone.

A file is replaced as a whole by one process at a time, so a reader finds the old one or the new
one. A symbolic link, a pipe or a device in its place is refused: it could lead out of the store.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from warmset._core import lock_file
from warmset.errors import Locked, StoreIOError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK: Final = "serve.lock"
"""An empty file; the process that has locked it may replace the others."""

WAIT: Final = 30.0
"""Seconds to wait for another process that replaces a file."""

_MODE: Final = 0o600
_OPEN: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def read(path: Path, *, most: int) -> bytes | None:
    """Return the bytes of a file; None if it is not there.

    Args:
        path: The file.
        most: The most bytes that it may have.

    Raises:
        StoreIOError: It is no regular file, it is larger, or it cannot be read.
    """
    try:
        number = os.open(path, os.O_RDONLY | _OPEN)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_regular(path) from None
        raise _refused(path, "read", error) from error
    try:
        if path.is_symlink() or not stat.S_ISREG(os.fstat(number).st_mode):
            raise _not_regular(path)
        with os.fdopen(number, "rb", closefd=False) as file:
            found = file.read(most + 1)
    except OSError as error:
        if isinstance(error, StoreIOError):
            raise
        raise _refused(path, "read", error) from error
    finally:
        os.close(number)
    if len(found) > most:
        raise StoreIOError(f"{path} has more than {most} bytes; restore it from a backup")
    return found


def replace(path: Path, content: bytes) -> None:
    """Put a file in its place, durable and for its owner alone; the caller holds the lock.

    Raises:
        StoreIOError: The operating system refused; the old file is as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
    try:
        try:
            number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, _MODE)
            with os.fdopen(number, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(number)
            beside.replace(path)
            _sync(path.parent)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(path, "write", error) from error


def tighten(path: Path) -> None:
    """Take a file from everybody but its owner, where the file system has modes and allows it."""
    with suppress(OSError):
        if stat.S_IMODE(path.lstat().st_mode) & ~_MODE:
            path.chmod(_MODE)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other process from replacing the files of a directory while entered.

    Raises:
        Locked: Another one does, and for longer than `WAIT`.
        StoreIOError: The directory is not there, or its lock is no regular file.
    """
    end = time.monotonic() + WAIT
    while (lock := lock_file(folder / LOCK)) is None:
        if time.monotonic() > end:
            raise Locked(str(folder / LOCK), "a process that changes the keys of the proxy")
        time.sleep(0.005)
    with lock:
        yield


def _sync(folder: Path) -> None:
    """Make the names in a directory durable, where directories can be synced."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _not_regular(path: Path) -> StoreIOError:
    return StoreIOError(
        f"{path} is no regular file; a store has no symbolic links, pipes or devices inside: put "
        "the file itself there"
    )


def _refused(path: Path, what: str, error: OSError) -> StoreIOError:
    return StoreIOError(
        f"cannot {what} {path} ({error.strerror or type(error).__name__}); give the store a "
        "directory that this process may read and write"
    )
