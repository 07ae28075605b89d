"""Which files an import reads: those that are named, and those below directories, each once."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warmset.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SUFFIXES: Final = frozenset((".jsonl", ".json", ".db", ".sqlite", ".sqlite3", ".zip"))
"""How files below a directory end that are looked at."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read.

    Args:
        path: The file.
        name: The conversation of what in it names none: its path below the directory.
        named: Whether it was named itself, and not found below a directory.
    """

    path: Path
    name: str
    named: bool


def find(given: Sequence[Path], within: Path | None = None) -> Iterator[Found]:
    """Yield the regular files that are meant, each once, in order.

    Links to files are followed, links to directories below a directory are not.

    Args:
        given: Files and directories.
        within: A directory; files that lie elsewhere, by links, are passed over. None for anywhere.

    Raises:
        InvalidInputError: A file that was named is not there, or is none.
    """
    seen: set[tuple[int, int]] = set()
    for path in given:
        for found in _below(path) if path.is_dir() else [Found(path, path.stem, named=True)]:
            try:
                known = found.path.stat()
            except OSError as error:
                if found.named:
                    raise InvalidInputError(f"{path}: {error.strerror or error}") from error
                continue
            if within is not None and not found.path.resolve().is_relative_to(within):
                continue
            if not stat.S_ISREG(known.st_mode):
                if found.named:
                    raise InvalidInputError(f"{path}: expected a file or a directory")
                continue
            if (known.st_dev, known.st_ino) not in seen:
                seen.add((known.st_dev, known.st_ino))
                yield found


def _below(root: Path) -> Iterator[Found]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix.lower() in _SUFFIXES:
                inner = path.relative_to(root).with_suffix("")
                yield Found(path, inner.as_posix(), named=False)
