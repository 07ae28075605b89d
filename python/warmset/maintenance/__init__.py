"""Maintenance of a store without a model: examine it, export records, import conversations.

Nothing here reads an index or makes a vector: it works on the store's records alone.
"""

from typing import TYPE_CHECKING

from warmset._support.lazy import lazy

if TYPE_CHECKING:
    from warmset.maintenance.access import (
        Access,
        Cipher,
        cipher_of,
        encryption_of,
        open_store,
        scope_of,
        undecipherable,
    )
    from warmset.maintenance.doctor import Health, examine
    from warmset.maintenance.erasure import erase_conversation
    from warmset.maintenance.exports import Exported, export
    from warmset.maintenance.imports import Import, Survey, survey
    from warmset.maintenance.redacting import redactor
    from warmset.maintenance.transcripts import (
        SOURCES,
        ImportReport,
        Source,
        import_transcripts,
        sniff,
    )

__all__ = [
    "SOURCES",
    "Access",
    "Cipher",
    "Exported",
    "Health",
    "Import",
    "ImportReport",
    "Source",
    "Survey",
    "cipher_of",
    "encryption_of",
    "erase_conversation",
    "examine",
    "export",
    "import_transcripts",
    "open_store",
    "redactor",
    "scope_of",
    "sniff",
    "survey",
    "undecipherable",
]

if not TYPE_CHECKING:  # for checkers every other name is an error
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "access": [
                "Access",
                "Cipher",
                "cipher_of",
                "encryption_of",
                "open_store",
                "scope_of",
                "undecipherable",
            ],
            "doctor": ["Health", "examine"],
            "erasure": ["erase_conversation"],
            "exports": ["Exported", "export"],
            "imports": ["Import", "Survey", "survey"],
            "redacting": ["redactor"],
            "transcripts": ["SOURCES", "ImportReport", "Source", "import_transcripts", "sniff"],
        },
    )
