"""Where a number comes from: commit, compiler, CPU, versions, load. Import it before numpy.

Importing this module takes the threads of BLAS and OpenMP down to one: peers are measured on the
same single core as the library.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
for _name in THREADS:
    os.environ[_name] = "1"

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("numpy", "faiss-cpu", "rs_bpe")


def _said(*command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, capture_output=True, text=True, check=True, cwd=ROOT
        )
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unknown ({error})"
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    names = ("model name", "cpu family", "model")
    return ", ".join(f"{name} {fields[name]}" for name in names if name in fields)


def _version(name: str) -> str:
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


def setting(others: tuple[str, ...] = PEERS) -> dict[str, object]:
    """Say what produced a result; `installed` is how the measured build got there."""
    import warmset  # noqa: PLC0415 - after the threads were set
    from warmset import native  # noqa: PLC0415

    return {
        "commit": _said("git", "rev-parse", "HEAD"),
        "changed": _said("git", "status", "--porcelain", "--", "rust", "python").splitlines(),
        "installed": "editable" if "site-packages" not in warmset.__file__ else "wheel",
        "warmset": _version("warmset"),
        "compiler": _said("rustc", "-V"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "simd": native.simd_tier(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "peers": {name: _version(name) for name in others},
        "command": " ".join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }
