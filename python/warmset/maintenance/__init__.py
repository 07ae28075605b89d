"""Looking after a store without a model: examine it, carry records out of it and into another one.

Nothing here reads an index or makes a vector: it works on the records, as they lie in the store.
"""

from warmset.maintenance.access import (
    Access,
    Cipher,
    cipher_of,
    open_store,
    scope_of,
    undecipherable,
)
from warmset.maintenance.doctor import Health, examine
from warmset.maintenance.exports import Exported, export
from warmset.maintenance.imports import Import, Survey, survey

__all__ = [
    "Access",
    "Cipher",
    "Exported",
    "Health",
    "Import",
    "Survey",
    "cipher_of",
    "examine",
    "export",
    "open_store",
    "scope_of",
    "survey",
    "undecipherable",
]
