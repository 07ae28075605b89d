"""Small files of hooks: whole or not there, for their owner alone, and no way out of the store."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

try:
    import fcntl
except ImportError:  # no such locks on Windows: there the last writer wins
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PAUSE: Final = 0.002


def folder(path: str) -> None:
    """Make a folder, for its owner alone, with those above it."""
    os.makedirs(path, mode=FOLDER_MODE, exist_ok=True)


def read(path: str, most: int) -> bytes | None:
    """Return the bytes of a file; None if it is not there.

    Args:
        path: The file.
        most: The most bytes that it may have.

    Raises:
        OSError: It cannot be read, is a symbolic link, or is larger.
    """
    try:
        number = os.open(path, os.O_RDONLY | NO_LINKS | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with open(number, "rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(27, "it has more bytes than a file of the hooks can have", path)
    return found


def read_json(path: str, most: int) -> dict[str, Any] | None:
    """Return the object in a file; None if the file is not there.

    Raises:
        OSError: See `read`.
        ValueError: It is no JSON object.
    """
    found = read(path, most)
    if found is None:
        return None
    made = json.loads(found)
    if not isinstance(made, dict):
        raise ValueError(f"{os.path.basename(path)} is no JSON object")  # noqa: TRY004 - its content
    return made


def replace(path: str, content: bytes) -> None:
    """Put a file in its place; a reader finds the old one or the new one.

    Raises:
        OSError: The operating system refused; the old file is as it was.
    """
    beside = f"{path}.{os.getpid()}-{time.monotonic_ns()}.new"
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, MODE)
    try:
        with open(number, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def replace_json(path: str, made: object) -> None:
    """Put a JSON file in its place; see `replace`."""
    replace(path, json.dumps(made, ensure_ascii=True, separators=(",", ":")).encode())


@contextmanager
def locked(path: str, wait: float) -> Iterator[None]:
    """Keep other processes from what a lock guards, while entered.

    Args:
        path: An empty file, which is made if it is not there.
        wait: Seconds to wait for another process.

    Raises:
        TimeoutError: Another process has it for longer.
        OSError: The file cannot be opened.
    """
    number = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, MODE)
    try:
        end = time.monotonic() + wait
        while not try_lock(number):
            if time.monotonic() > end:
                raise TimeoutError(f"{os.path.basename(path)} is locked by another process")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(number)


def try_lock(number: int) -> bool:
    """Lock an open file, if no other process has; the lock ends when the file is closed."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
