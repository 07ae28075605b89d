"""Runs adapters' tests in environments of their own, and prints the counts.

    python -m tests.apart DIR                    # all
    python -m tests.apart DIR --only litellm

An environment is made in DIR with pip if it is not there. It has the framework, and what the tests
need besides; warmset itself is taken from this tree.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "python" / "adapters"
TOOLS = (
    "numpy>=2",
    "hypothesis>=6.130",
    "pytest>=8.4",
    "pytest-asyncio>=1.0",
    "pytest-timeout>=2.4",
)


@dataclass(frozen=True)
class Apart:
    """An environment: what is installed, and which tests run in it."""

    packages: tuple[str, ...]
    files: tuple[str, ...]


APART = {
    "litellm": Apart(
        ("litellm[proxy]", "pytest-httpserver>=1.1"),
        ("test_litellm.py", "test_litellm_lists.py", "test_recipes.py"),
    ),
    "recipes": Apart(
        ("llama-index-core", "google-adk", "agent-framework-core", "strands-agents"),
        ("test_recipes.py", "test_recipe_agents.py"),
    ),
}


def environment(place: Path, packages: tuple[str, ...]) -> Path:
    """Return the interpreter of an environment, made if it is not there."""
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


def run(python: Path, files: tuple[str, ...]) -> int:
    """Run test files; pytest prints the counts, and why tests were skipped."""
    # What frameworks say about what is deprecated is their own affair.
    kinds = ("DeprecationWarning", "FutureWarning", "UserWarning", "ResourceWarning")
    quiet = [option for kind in kinds for option in ("-W", f"ignore::{kind}")]
    command = [str(python), "-m", "pytest", "-rs", "-p", "no:cacheprovider", *quiet]
    inherited = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)]),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # no network
    }
    paths = [str(TESTS / name) for name in files]
    return subprocess.run([*command, *paths], cwd=ROOT, env=inherited, check=False).returncode  # noqa: S603


def main() -> int:
    """Run all of it; the number of environments in which a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, help="the directory of the environments")
    parser.add_argument("--only", nargs="*", default=[*APART], help=", ".join(APART))
    options = parser.parse_args()
    failed = 0
    for name in options.only:
        python = environment(options.place / name, APART[name].packages)
        print(f"\n{name}: {' '.join(APART[name].packages)}", flush=True)
        failed += run(python, APART[name].files) != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
