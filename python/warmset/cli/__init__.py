"""The command line. It needs the extra ``local``; without it, it says so in one line."""

from warmset.cli.entry import main

__all__ = ["main"]
