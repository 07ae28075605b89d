"""Where a file that a user names is to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def destination(path: Path) -> tuple[Path, bool]:
    """Return the file behind links, and whether another file may take its place.

    A pipe or a device is to be written to, and not replaced.
    """
    real = path.resolve()
    return real, real.is_file() or not real.exists()
