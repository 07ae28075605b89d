"""Where the command begins: nothing heavy is imported before it is known to be there."""

from __future__ import annotations

import sys
from typing import Final

from warmset.embed.optional import extra
from warmset.errors import MissingExtraError

NOT_INSTALLED: Final = 2


def main() -> None:
    """Run the command line with the arguments of the process, and exit with its code."""
    try:
        with extra("local"):
            from warmset.cli.app import run  # noqa: PLC0415 - the extra brings what it imports
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    sys.exit(run(sys.argv[1:]))
