"""Where a number comes from: commit, compiler, CPU, versions, load. Import it before numpy.

Importing this module takes the threads of BLAS and OpenMP down to one: peers are measured on the
same single core as the library.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from warmset.lab.bench.setting import cpu, file_system, one_thread, version

__all__ = ["ROOT", "file_system", "setting"]

one_thread()

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


def setting(others: tuple[str, ...] = PEERS) -> dict[str, object]:
    """Say what produced a result; `installed` is how the measured build got there."""
    import warmset  # noqa: PLC0415 - after the threads were set
    from warmset import native  # noqa: PLC0415

    return {
        "commit": _said("git", "rev-parse", "HEAD"),
        "changed": _said("git", "status", "--porcelain", "--", "rust", "python").splitlines(),
        "installed": "editable" if "site-packages" not in warmset.__file__ else "wheel",
        "warmset": version("warmset"),
        "compiler": _said("rustc", "-V"),
        "cpu": cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "simd": native.simd_tier(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "peers": {name: version(name) for name in others},
        "command": " ".join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }
