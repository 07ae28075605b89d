"""The command line, which needs the extra ``local``.

Without the extra, every command prints one line that names it, and exits.
"""

from warmset.cli.entry import main

__all__ = ["main"]
