"""Runs adapters' tests in environments of their own, and prints the counts.

    python -m tests.apart DIR                    # all
    python -m tests.apart DIR --only litellm

An environment is made in DIR with pip if it is not there. It has the framework, and what the tests
need besides; warmset itself is taken from this tree.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.frameworks.environment import environment, run

QUIET = ("DeprecationWarning", "FutureWarning", "UserWarning", "ResourceWarning")


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
        failed += run(python, APART[name].files, QUIET) != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
