"""Imports conversations from files of other programs: one file here for each source, one table.

What this package promises:

- A source is known by its content. Its own ids name what is imported, so that nothing is stored
  twice.
- A batch is stored whole or not at all; an import that was killed is finished by the next one.
- What was erased from the store is not brought back.
- What is not understood is stored as it stands, and counted; nothing of a file is run or imported.
- A file is read piece by piece. What grows with it in memory is 16 bytes a line here, and what the
  store's log knows of its entries.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.maintenance.transcripts.api import import_transcripts
    from warmset.maintenance.transcripts.report import ImportReport
    from warmset.maintenance.transcripts.sources import SOURCES, Source, sniff

__all__ = ["SOURCES", "ImportReport", "Source", "import_transcripts", "sniff"]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "api": ["import_transcripts"],
            "report": ["ImportReport"],
            "sources": ["SOURCES", "Source", "sniff"],
        },
    )
