"""The entry point of the command: it checks for the extra before it imports anything heavy."""

from __future__ import annotations

import sys

from warmset.cli.interrupts import Interrupts


def main() -> None:
    """Run the command line with the arguments of the process, and exit with its code."""
    Interrupts().run(_code)


def _code() -> int:
    from warmset._extras import extra  # noqa: PLC0415 - Ctrl-C is heeded from here on
    from warmset.cli.exit_codes import NOT_INSTALLED  # noqa: PLC0415
    from warmset.errors import MissingExtraError  # noqa: PLC0415

    try:
        with extra("local"):
            from warmset.cli.app import run  # noqa: PLC0415 - the extra brings what it imports
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_INSTALLED
    return run(sys.argv[1:])
