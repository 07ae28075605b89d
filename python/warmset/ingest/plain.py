"""Messages that are stored as they are, which the core writes without Python reading them."""

from __future__ import annotations

from typing import Final

from warmset._core import PlainHasher
from warmset.ingest.turn import Turn
from warmset.messages.client_only import TABLE

PLAIN: Final = PlainHasher(
    {row.field for row in TABLE if row.when == "always"},
    {row.field for row in TABLE if row.when != "always" and not row.kinds and row.field != "*"},
    Turn,
)
"""Writes messages that are stored as they are: no field of an SDK's, nothing to redact."""
