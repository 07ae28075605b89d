"""The helper as a process, started by a hook: `python resident.py MEMORY`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Make warmset importable as it was for the hook, and help until nobody asks any more."""
    os.closerange(3, 256)  # what the agent left open is not kept open by us
    root = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [root, *(place for place in sys.path if place != here)]
    from warmset.serve.hooks.helper import run  # noqa: PLC0415 - the path was set just now

    run(sys.argv[1])


if __name__ == "__main__":
    main()
