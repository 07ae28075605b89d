"""Where a number comes from: the machine, the build, the versions; and one core for everybody."""

from __future__ import annotations

import mmap
import os
import platform
import re
import sys
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read once, when numpy or another library starts its threads."""

PACKAGES: Final = (
    "numpy",
    "faiss-cpu",
    "hnswlib",
    "usearch",
    "lmdb",
    "langchain-core",
    "tiktoken",
    "rs-bpe",
)


def one_thread() -> bool:
    """Have libraries that are not loaded yet use one thread; tell whether numpy is among them."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    return "numpy" not in sys.modules


@contextmanager
def one_core() -> Iterator[int | None]:
    """Keep this process on one core, where the system can, and give back the others at the end.

    Yields:
        The core's number; None where processes cannot be kept on one.
    """
    if sys.platform != "linux":
        yield None
        return
    before = os.sched_getaffinity(0)
    core = min(before)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


def cpu() -> str:
    """Name the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    names = ("model name", "cpu family", "model")
    said = ", ".join(f"{name} {fields[name]}" for name in names if name in fields)
    return said or platform.machine()


def version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def file_system(place: Path) -> str:
    """Name the file system that a directory lies on, and how it is mounted."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    mounts = [line.split()[1:4] for line in lines]
    around = {str(place.resolve()), *map(str, place.resolve().parents)}
    found = max((row for row in mounts if row[0] in around), key=lambda row: len(row[0]))
    return f"{found[1]} ({found[2]})"


def compiler() -> str:
    """Return the compiler that the core was built with, as the file of the core says."""
    place = import_module("warmset._core").__file__
    if place is None:
        return "unknown"
    with Path(place).open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with content:
            said = re.search(rb"rustc version ([\w.+-]+(?: \([^)\0]*\))?)", content)
            if said is not None:
                return f"rustc {said[1].decode()}"
            source = re.search(rb"/rustc/([0-9a-f]{9})[0-9a-f]{31}/", content)
    return f"rustc of commit {source[1].decode()}" if source is not None else "unknown"


def setting(place: Path, core: int | None, *, one_thread: bool) -> dict[str, object]:
    """Say what produced a result.

    Args:
        place: The directory whose disk is measured.
        core: The core that everything runs on; None for any.
        one_thread: Whether libraries were told to use one thread before they were loaded.

    Returns:
        The header of a report, ready for JSON.
    """
    from warmset import native  # noqa: PLC0415 - after the threads were set

    return {
        "warmset": version("warmset"),
        "compiler": compiler(),
        "simd": native.simd_tier(),
        "cpu": cpu(),
        "core": core,
        "one_thread": one_thread or core is not None,
        "python": platform.python_version(),
        "system": platform.platform(),
        "disk": file_system(place),
        "packages": {name: version(name) for name in PACKAGES},
        "sqlite": _sqlite(),
        "load": [round(one, 2) for one in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _sqlite() -> str:
    import sqlite3  # noqa: PLC0415 - some builds of Python have none

    return sqlite3.sqlite_version
