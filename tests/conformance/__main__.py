"""Run the suite, print what it found, and keep it beside the tests: `python -m tests.conformance`.

The exit code is 1 if a scenario that applies fails, or one is new; 2 if the suite cannot run.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.conformance.suite import RESULTS, Unavailable, command, install, run


def main() -> int:
    """Install the suite if it is not there, run it, and report."""
    try:
        try:
            command()
        except Unavailable:
            install()
            command()
        with tempfile.TemporaryDirectory() as directory:
            results = run(Path(directory))
    except Unavailable as error:
        print(f"the suite cannot run here: {error}", file=sys.stderr)
        return 2
    wrong = 0
    for revision, scenarios in results["revisions"].items():
        print(revision)
        for name, one in scenarios.items():
            if "judged" not in one:
                print(f"  - {name}: {one['not applicable'] or 'NEW: not in scenarios.py'}")
                wrong += one["not applicable"] is None
                continue
            failed = one["failed"]
            wrong += bool(failed)
            print(f"  {'✗' if failed else '✓'} {name} ({one['judged']}): {one['passed']} checks")
            for line in failed:
                print(f"      {line}")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
