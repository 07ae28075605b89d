"""The entry point of the command: it checks for the extra before it imports anything heavy."""

from __future__ import annotations

import sys

from warmset._extras import extra
from warmset.cli.exit_codes import INTERRUPTED, NOT_INSTALLED
from warmset.errors import MissingExtraError


def main() -> None:
    """Run the command line with the arguments of the process, and exit with its code."""
    sys.exit(_code())


def _code() -> int:
    try:
        with extra("local"):
            from warmset.cli.app import run  # noqa: PLC0415 - the extra brings what it imports
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_INSTALLED
    except KeyboardInterrupt:
        return INTERRUPTED
    return run(sys.argv[1:])
