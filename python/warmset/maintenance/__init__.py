"""Maintenance of a store without a model: examine it, export records, import records.

Nothing here reads an index or makes a vector: it works on the store's records alone.
"""

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

__all__ = [
    "Access",
    "Cipher",
    "Exported",
    "Health",
    "Import",
    "Survey",
    "cipher_of",
    "encryption_of",
    "erase_conversation",
    "examine",
    "export",
    "open_store",
    "redactor",
    "scope_of",
    "survey",
    "undecipherable",
]
