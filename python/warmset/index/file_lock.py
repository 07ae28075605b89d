"""The files beside a store that hold its index, and the lock that savers and erasers share.

The files are caches: a save replaces each as a whole, and an erasure deletes them first. Both hold
the lock on `LOCK`, so no file whose writing began before an erasure appears after it.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset._core import lock_file
from warmset.errors import Locked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from os import PathLike

NAME: Final = "index"
"""The index, in the directory of its store."""

TURNS: Final = "turns"
"""What is known of conversations, beside the index; written and deleted with it."""

TEXTS: Final = Path("hooks", "texts")
"""What hooks keep of conversations: checkpoints, and an index of words."""

LOCK: Final = "index.lock"
"""An empty file; the process that has locked it may write or delete the index."""

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)

WAIT: Final = 60.0
"""Seconds that an erasure waits for a process that saves."""


def encrypted(folder: Path | None) -> bool:
    """Return whether the store of a directory has encrypted records."""
    keys = None if folder is None else folder / "keys"
    return keys is not None and keys.is_dir() and next(keys.iterdir(), None) is not None


def remove(folder: Path) -> None:
    """Delete the index and incomplete files of crashed processes; the caller holds the lock.

    Raises:
        OSError: The operating system refused.
    """
    for name in (TURNS, NAME):
        (folder / name).unlink(missing_ok=True)
        clear(folder, name)


def remove_texts(folder: Path) -> None:
    """Delete what hooks keep of conversations; the caller holds the lock.

    The folder gets another name first: whoever writes into it at this moment writes nowhere.

    Raises:
        OSError: The operating system refused.
    """
    there = folder / TEXTS
    for left in there.parent.glob(f"{TEXTS.name}.*.gone"):
        shutil.rmtree(left)
    if there.is_dir() and not there.is_symlink():
        gone = there.with_name(f"{TEXTS.name}.{os.getpid()}-{time.monotonic_ns()}.gone")
        there.rename(gone)
        shutil.rmtree(gone)


def clear(folder: Path, name: str) -> None:
    """Delete the incomplete files of crashed processes that a name has; see `remove`."""
    for left in folder.glob(f"{name}.*.new"):
        left.unlink(missing_ok=True)


def _lock(folder: Path) -> AbstractContextManager[object] | None:
    try:
        return lock_file(folder / LOCK)
    except OSError as error:
        if error.errno in _NO_LOCKS:  # then no process saves there either
            return nullcontext()
        raise


@contextmanager
def erasing(path: str | PathLike[str] | None) -> Iterator[None]:
    """Delete the index of a store, and keep every process from saving it while entered.

    What hooks keep of conversations is deleted, too.

    Args:
        path: The store's directory; nothing is done for a store in memory.

    Raises:
        Locked: Another process saves or erases for longer than `WAIT`.
        OSError: The file could not be deleted.
        StoreIOError: The lock could not be acquired.
    """
    if path is None:
        yield
        return
    folder, end = Path(path), time.monotonic() + WAIT
    while (lock := _lock(folder)) is None:
        if time.monotonic() > end:
            raise Locked(str(folder / LOCK), "a process that saves its index, or erases")
        time.sleep(0.01)
    with lock:
        remove(folder)
        remove_texts(folder)
        yield
