"""Runs the adapters' tests in environments of their own, and prints the counts.

    python -m tests.frameworks DIR                     # the oldest versions, each alone
    python -m tests.frameworks DIR --newest            # the newest ones, together
    python -m tests.frameworks DIR --only langgraph

An environment is made in DIR with pip if it is not there. It has the framework, and what the tests
need besides; warmset itself is taken from this tree.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "python" / "adapters"
TOOLS = ["numpy>=2", "openai>=2", "hypothesis>=6.130", "pytest>=8.4", "pytest-timeout>=2.4"]
OLDEST = {
    "openai-agents": ["openai-agents==0.8.0"],
    "claude-agent-sdk": ["claude-agent-sdk==0.1.80"],
    "langgraph": ["langgraph==1.0.0", "langgraph-checkpoint-conformance==0.0.2"],
}
"""What pyproject.toml promises; `tests/python/house` compares the two."""

NEWEST = {
    "newest": [
        "openai-agents[encrypt]",
        "claude-agent-sdk",
        "langgraph",
        "langgraph-checkpoint-conformance",
    ]
}
FILES = {
    "openai-agents": ["test_openai_agents.py", "test_openai_agents_compaction.py"],
    "claude-agent-sdk": ["test_claude_agent_sdk.py"],
    "langgraph": ["test_langgraph_saver.py", "test_langgraph_store.py"],
}


def environment(place: Path, packages: list[str]) -> Path:
    """Return the interpreter of an environment, made if it is not there."""
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = place / "installed"
    if not done.exists():
        venv.create(place, with_pip=True)
        command = [str(python), "-m", "pip", "install", "-q", *TOOLS, *packages]
        subprocess.run(command, check=True)  # noqa: S603 - our own command
        done.write_text("\n".join(packages))
    return python


def run(python: Path, files: list[str]) -> int:
    """Run test files; pytest prints the counts, and why tests were skipped."""
    paths = [str(TESTS / name) for name in [*files, "test_on_a_log.py"]]
    # What an old version of a framework says about what is deprecated by now is its own affair.
    quiet = ["-W", "ignore::DeprecationWarning", "-W", "ignore::UserWarning"]
    command = [str(python), "-m", "pytest", "-rs", "-p", "no:cacheprovider", *quiet, *paths]
    inherited = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)])}
    return subprocess.run(command, cwd=ROOT, env=inherited, check=False).returncode  # noqa: S603


def main() -> int:
    """Run all of it; the number of environments in which a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path, help="the directory of the environments")
    parser.add_argument("--newest", action="store_true", help="the newest versions, together")
    parser.add_argument("--only", nargs="*", default=[*OLDEST], help=", ".join(OLDEST))
    options = parser.parse_args()
    failed = 0
    for name, packages in (NEWEST if options.newest else OLDEST).items():
        if not options.newest and name not in options.only:
            continue
        python = environment(options.place / name, packages)
        print(f"\n{name}: {' '.join(packages)}", flush=True)
        files = [one for each in FILES.values() for one in each] if options.newest else FILES[name]
        failed += run(python, files) != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
