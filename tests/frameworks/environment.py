"""An environment of its own for some of the adapters' tests, and a run of them in it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "python" / "adapters"
TOOLS = (
    "numpy>=2",
    "hypothesis>=6.130",
    "pytest>=8.4",
    "pytest-asyncio>=1.0",
    "pytest-timeout>=2.4",
)


def environment(place: Path, packages: Sequence[str]) -> Path:
    """Return the interpreter of an environment, made with pip if it is not there.

    It has some packages, and what the tests need besides; warmset itself is taken from this tree.
    """
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = place / "installed"
    if not done.exists():
        venv.create(place, with_pip=True)
        command = [str(python), "-m", "pip", "install", "-q", *TOOLS, *packages]
        subprocess.run(command, check=True)  # noqa: S603 - our own command
        _describe(place)
        done.write_text("\n".join(packages))
    return python


def _describe(place: Path) -> None:
    """Say which version warmset has, as an installed package does."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    base = {"base": str(place), "platbase": str(place)}
    folder = Path(sysconfig.get_path("purelib", "venv", base)) / f"warmset-{version}.dist-info"
    folder.mkdir()
    told = f"Metadata-Version: 2.1\nName: warmset\nVersion: {version}\n"
    (folder / "METADATA").write_text(told)


def run(python: Path, files: Sequence[str], quiet: Sequence[str]) -> int:
    """Run test files; pytest prints the counts, and why tests were skipped.

    Args:
        python: The interpreter.
        files: Names of files with tests of adapters.
        quiet: Kinds of warnings that are no errors: what frameworks say about what is deprecated is
            their own affair.
    """
    ignored = [option for kind in quiet for option in ("-W", f"ignore::{kind}")]
    command = [str(python), "-m", "pytest", "-rs", "-p", "no:cacheprovider", *ignored]
    inherited = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)]),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # no network
    }
    paths = [str(TESTS / name) for name in files]
    return subprocess.run([*command, *paths], cwd=ROOT, env=inherited, check=False).returncode  # noqa: S603
