"""Where models are kept on this machine, and how a file gets there whole."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from warmset.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Iterator


def cache_dir() -> Path:
    r"""Find the cache directory; it need not exist.

    Returns:
        ``WARMSET_CACHE`` if set, else the platform's place: ``%LOCALAPPDATA%\warmset``,
        ``~/Library/Caches/warmset``, or ``warmset`` in ``XDG_CACHE_HOME`` or ``~/.cache``.

    Raises:
        EmbedderError: Nothing is set and this user has no home.
    """
    chosen = os.environ.get("WARMSET_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    variable, below_home = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    given = os.environ.get(variable, "")
    if Path(given).is_absolute():
        return Path(given) / "warmset"
    try:
        return Path.home() / below_home / "warmset"
    except RuntimeError as error:
        raise EmbedderError(
            "this user has no home directory; set WARMSET_CACHE to a directory for models"
        ) from error


@contextmanager
def landing(path: Path) -> Iterator[Path]:
    """Let a file appear whole or not at all, also when several processes write it at once.

    Args:
        path: Where the file is to be. Its directory is made if it does not exist.

    Yields:
        A path beside it, of this call alone, to write to. When the block ends it is synced and
        renamed onto ``path``; if the block raises, it is removed.

    Raises:
        EmbedderError: The directory cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
        settle(draft, path)
    except OSError as error:
        raise EmbedderError(
            f"cannot write {path} ({error}); set WARMSET_CACHE to a directory that can be written"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def settle(draft: Path, path: Path) -> None:
    """Sync a finished file and rename it onto its place.

    Args:
        draft: The finished file, on the same file system.
        path: Its place; a file that is there is replaced.

    Raises:
        OSError: The file system refused.
    """
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        draft.replace(path)
    except PermissionError:
        # Windows does not replace a file that another process has open. Who opened it has
        # checked it, and names say what files hold, so that one serves as well.
        if sys.platform != "win32" or not path.exists():
            raise
