"""The command: `poe mutants`, or `python -m tests.mutants` in the repository's root."""

from __future__ import annotations

import sys

from tests.mutants.command import main

if __name__ == "__main__":
    sys.exit(main())
