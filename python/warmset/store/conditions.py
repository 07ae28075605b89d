"""Conditions of a batch: what must be so when `Log.write` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from warmset.store.rows import Key


@dataclass(frozen=True, slots=True)
class Version:
    """The condition that a cell is at a version.

    Args:
        key: The cell's key.
        id: The version, as `Log.version` returned it; 0 for a cell that is absent.
    """

    key: Key
    id: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The condition that a list ends with an entry.

    Args:
        list: The list's key.
        id: The id of its last entry, as `Log.tail` returned it; 0 for an empty list.
    """

    list: Key
    id: int


Condition: TypeAlias = Version | Tail
"""What must be so for a batch to be written."""
